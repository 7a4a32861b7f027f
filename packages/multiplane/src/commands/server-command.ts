import {
  createLogger,
  OptionError,
  parseOptions,
  ShutdownSignal,
  type Command,
  type FeatureGates,
  type Logger,
  type OptionTable,
  type OptionValues,
} from '@multiplane/component-base';
import { supervisedVariable } from '../sharded/supervised-variable.ts';
import { version } from '../version.ts';

/** The options of every server. */
interface CommonOptions {
  readonly v: number;
  readonly loggingFormat: 'text' | 'json';
  readonly features?: Pick<FeatureGates<string>, 'unknown'>;
}

/** `process.env` of the program. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface ServerModules {
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly version: string;
}

export interface Server<Table extends OptionTable, Options extends CommonOptions> {
  readonly sections: Readonly<Record<string, OptionTable>>;
  readonly table: Table;
  /** Completes and validates the options. Throws OptionError. */
  readonly complete: (values: OptionValues<Table>) => Options;
  /** Runs until the signal aborts. */
  readonly run: (options: Options, modules: ServerModules, given: ReadonlySet<string>) => Promise<void>;
}

/** A sub-command that parses its flags and runs its server until SIGINT or SIGTERM. */
export function serverCommand<Table extends OptionTable, Options extends CommonOptions>(
  { sections, table, complete, run }: Server<Table, Options>,
  environment: Environment,
): Command {
  return {
    help: { sections },
    run: async (args) => {
      const { values, operands, given } = parseOptions(table, { args, environment });
      if (operands[0] !== undefined) throw new OptionError(`unexpected argument ${JSON.stringify(operands[0])}`);
      const options = complete(values);
      const logger = createLogger(
        { level: options.v >= 4 ? 'debug' : 'info', format: options.loggingFormat },
        { write: (text) => void process.stderr.write(text) },
      );
      for (const name of options.features?.unknown ?? []) logger.warn('unknown feature gate', { name });
      if (environment[supervisedVariable] === '1') endWithSupervisor(process);
      using shutdown = new ShutdownSignal({ source: process, logger, forceExit: (code) => process.exit(code) });
      await run(options, { logger, signal: shutdown.signal, version }, given);
      return 0;
    },
  };
}

/**
 * Stops a server that `start --shards` started when that has been killed: nothing would restart it, and the next start finds its
 * ports and stores in use.
 */
function endWithSupervisor(program: NodeJS.Process): void {
  const { channel } = program;
  if (channel === undefined || channel === null) return;
  // Nobody reads any more what the server writes.
  for (const stream of [program.stdout, program.stderr]) stream.on('error', () => undefined);
  program.once('disconnect', () => program.kill(program.pid, 'SIGTERM'));
  // A listener keeps the channel, and with it the process.
  channel.unref();
}

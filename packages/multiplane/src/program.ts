import { createLogger, parseOptions, runCommand, ShutdownSignal, type Program } from '@multiplane/component-base';
import { completeShardOptions, runShard, shardOptionSections, shardOptionTable } from '@multiplane/shard';
import { version } from './version.ts';

const stdout = (text: string): void => void process.stdout.write(text);
const stderr = (text: string): void => void process.stderr.write(text);

/** The command. Each sub-command parses its flags, starts its server and runs until a signal comes. */
const program: Program = {
  name: 'multiplane',
  description: 'A control plane for many tenants: each workspace is a complete Kubernetes-style API of its own.',
  version: `multiplane ${version}`,
  commands: [
    {
      name: 'start',
      summary: 'Start everything in one process, on the embedded store.',
      help: { sections: shardOptionSections },
      run: async (args) => {
        const { values } = parseOptions(shardOptionTable, { args, environment: process.env });
        const options = completeShardOptions(values);
        const logger = createLogger(
          { level: options.v >= 4 ? 'debug' : 'info', format: options.loggingFormat },
          { write: stderr },
        );
        for (const name of options.features.unknown) logger.warn('unknown feature gate', { name });
        using shutdown = new ShutdownSignal({ source: process, logger, forceExit: (code) => process.exit(code) });
        await runShard(options, { logger, signal: shutdown.signal, version });
        return 0;
      },
    },
  ],
};

runCommand(program, process.argv.slice(2), { stdout, stderr }).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    stderr(`error: ${describe(error)}\n`);
    process.exitCode = 1;
    // Something that failed may leave a handle open; nobody waits for it for ever.
    setTimeout(() => process.exit(1), 5_000).unref();
  },
);

/** The message with those of its causes: what went wrong, and why. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`;
}

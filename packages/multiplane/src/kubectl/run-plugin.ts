import { CommanderError, type Command } from 'commander';
import { LiveNames } from './completion/live-names.ts';
import { completionArgument, runCompletion } from './completion/run-completion.ts';
import { failureText } from './failure-text.ts';

/** Prefix of error messages: as in kcp, workspace commands print `Error:`, the others `error:`. */
export type ErrorPrefix = 'Error' | 'error';

/** Exit status of a program that is killed by SIGPIPE, which Node ignores. */
const sigpipeStatus = 141;

/** Runs a plugin, or completes its command line. An error is one line on stderr and exit status 1. */
export async function runPlugin(
  program: Command,
  argv: readonly string[],
  { prefix, environment }: { readonly prefix: ErrorPrefix; readonly environment: NodeJS.ProcessEnv },
): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', exitOnBrokenPipe);
  const [first, ...words] = argv;
  if (first === completionArgument) {
    const source = new LiveNames({ environment });
    return runCompletion(program, words, { source, out: (text) => void process.stdout.write(text) });
  }
  for (const command of allCommands(program)) command.exitOverride().configureOutput({ outputError: () => {} });
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return;
    process.stderr.write(`${prefix}: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}

/** For `kubectl ws tree | head`: exits silently, as a Go program does. */
function exitOnBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(sigpipeStatus);
}

function allCommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

/** Strips commander's own `error: ` prefix. */
function messageOf(error: unknown): string {
  const text = failureText(error);
  return error instanceof CommanderError ? text.replace(/^error: /, '') : text;
}

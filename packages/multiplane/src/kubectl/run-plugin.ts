import { CommanderError, type Command } from 'commander';
import { failureText } from './failure-text.ts';

/** How a plugin ends its messages of failure: the workspace commands say `Error:`, the others `error:` (C13.1). */
export type ErrorPrefix = 'Error' | 'error';

/** What a shell says of a program that SIGPIPE ended. Node ignores the signal, and so has to end by itself. */
const endedBySigpipe = 141;

/** Runs a plugin to its end. Whatever goes wrong is one line on stderr and exit status 1. */
export async function runPlugin(program: Command, argv: readonly string[], prefix: ErrorPrefix): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', endWithoutReader);
  for (const command of everyCommand(program)) command.exitOverride().configureOutput({ outputError: () => {} });
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return;
    process.stderr.write(`${prefix}: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}

/** `kubectl ws tree | head` stops reading; a plugin in Go ends there without a word. */
function endWithoutReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(endedBySigpipe);
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

/** Commander's own messages begin with a word that is ours to say. */
function messageOf(error: unknown): string {
  const text = failureText(error);
  return error instanceof CommanderError ? text.replace(/^error: /, '') : text;
}

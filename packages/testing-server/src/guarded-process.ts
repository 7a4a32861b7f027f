import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Standard input of the shell ends when this process does, also by SIGKILL: then it ends the server and removes its folder. */
const guard = `
folder=$1
shift
exec 3<&0
"$@" </dev/null 3<&- &
server=$!
# A server that has ended by itself ends the guard; a process that has got its number since must not be killed.
(
  cat <&3 >/dev/null
  kill "$server"
  for second in 1 2 3 4 5 6 7 8 9 10; do sleep 1; done
  kill -9 "$server"
) 2>/dev/null &
watch=$!
exec 3<&-
wait "$server"
code=$?
kill "$watch" 2>/dev/null
rm -rf -- "$folder"
exit "$code"
`;

export interface GuardedProcessOptions {
  readonly command: readonly string[];
  readonly environment: Record<string, string>;
  /** Removed once the process has ended, however it, or this process, ends. */
  readonly folder: string;
  /** File that gets what it prints. */
  readonly logFile: string;
}

/** A process that does not outlive this one. It does not keep this one alive either. */
export class GuardedProcess {
  readonly #shell: ChildProcess;
  /** Resolves to the exit code. */
  readonly ended: Promise<number>;
  readonly #log: number;
  #isClosed = false;

  constructor({ command, environment, folder, logFile }: GuardedProcessOptions) {
    // It can be read to the end, also when the folder is gone.
    this.#log = openSync(logFile, 'a+', 0o600);
    this.#shell = spawn('/bin/sh', ['-c', guard, 'multiplane-testing-server', folder, ...command], {
      // A group of its own: Ctrl-C in the terminal of a test is for the test, which may want to stop it in order.
      detached: true,
      env: environment,
      stdio: ['pipe', this.#log, this.#log],
    });
    this.ended = once(this.#shell, 'exit').then(([code]) => (code as number | null) ?? 1);
    this.#shell.stdin?.on('error', () => undefined);
    this.#shell.unref();
    (this.#shell.stdin as (NodeJS.WritableStream & { unref?: () => void }) | null)?.unref?.();
  }

  /** What it has printed; empty after {@link stop}. */
  get log(): string {
    const text = Buffer.alloc(this.#isClosed ? 0 : fstatSync(this.#log).size);
    if (text.length > 0) readSync(this.#log, text, 0, text.length, 0);
    return text.toString();
  }

  /** Ends it, and resolves when it has ended and its folder is gone. */
  async stop(): Promise<void> {
    this.#shell.ref();
    this.#shell.stdin?.end();
    await this.ended;
    if (!this.#isClosed) closeSync(this.#log);
    this.#isClosed = true;
  }
}

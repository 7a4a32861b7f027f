import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { eventually } from './eventually.ts';
import { freezeProcess } from './freeze-process.ts';

export interface ChildServerOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Throws as long as the server does not serve. */
  readonly probe: () => Promise<void>;
  /** Milliseconds until a start counts as failed; 45 s unless told otherwise. */
  readonly startTimeout?: number | undefined;
  /** Starts it again whenever it ends unasked, as a supervisor does; false. */
  readonly supervised?: boolean | undefined;
}

/** How much of the end of a server's output is kept for failure messages. */
const tailLength = 16_384;
const setpriv = '/usr/bin/setpriv';

/**
 * A real server as a child process: start, wait until it serves, stop, kill, freeze, thaw, start again.
 *
 * A child never outlives the test process, not even when that is killed: on Linux the kernel kills it with its parent.
 */
export class ChildServer implements AsyncDisposable {
  readonly #options: ChildServerOptions;
  #child: ChildProcess | undefined;
  #tail = '';
  /** From the start until somebody stops it. */
  #wanted = false;

  constructor(options: ChildServerOptions) {
    this.#options = options;
  }

  /** Starts the process and waits until it serves. Throws with the end of its output when it does not. */
  async start(): Promise<void> {
    if (this.running) throw new Error(`${this.#options.name} runs already`);
    await this.#launch();
    this.#wanted = true;
    if (this.#options.supervised === true) void this.#supervise();
  }

  async #launch(): Promise<void> {
    const { name, command, args, startTimeout = 45_000 } = this.#options;
    const line = existsSync(setpriv) ? [setpriv, '--pdeathsig', 'KILL', command, ...args] : [command, ...args];
    const child = spawn(line[0] as string, line.slice(1), {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#tail = '';
    let failure: Error | undefined;
    child.once('error', (error) => (failure = error));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.#tail = (this.#tail + text).slice(-tailLength)));
    }
    const waiting = new AbortController();
    try {
      await Promise.race([
        eventually(this.#options.probe, { timeout: startTimeout, interval: 50, signal: waiting.signal }),
        exited(child).then(() => {
          throw new Error(`it exited with ${child.exitCode ?? child.signalCode}`, { cause: failure });
        }),
      ]);
    } catch (error) {
      child.kill('SIGKILL');
      await exited(child);
      throw new Error(`${name} did not start; its output ends with:\n${this.#tail}`, { cause: error });
    } finally {
      waiting.abort();
    }
  }

  async #supervise(): Promise<void> {
    for (;;) {
      await exited(this.#child as ChildProcess);
      if (!this.#wanted) return;
      // What it says when it does not start is in its output; it is tried again.
      await this.#launch().catch(() => undefined);
    }
  }

  /** True from the start until the process has gone, also while it is frozen. */
  get running(): boolean {
    return this.#child !== undefined && isAlive(this.#child);
  }

  get pid(): number | undefined {
    return this.running ? this.#child?.pid : undefined;
  }

  /** The last lines that the server wrote. */
  get output(): string {
    return this.#tail;
  }

  /** SIGTERM, and SIGKILL when it has not gone after `grace` milliseconds. */
  async stop(grace = 15_000): Promise<void> {
    this.#wanted = false;
    const child = this.#child;
    if (child === undefined || !isAlive(child)) return;
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), grace);
    await exited(child);
    clearTimeout(timer);
  }

  /** SIGKILL: what a crash looks like. Resolves when the process has gone; it stays away. */
  async kill(): Promise<void> {
    this.#wanted = false;
    await this.crash();
  }

  /** SIGKILL. One that is supervised comes back. */
  async crash(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !isAlive(child)) return;
    child.kill('SIGKILL');
    await exited(child);
  }

  /** SIGSTOP: the process keeps its connections and, from when this resolves, answers nothing. */
  async freeze(): Promise<void> {
    const pid = this.#child?.pid;
    if (pid !== undefined) await freezeProcess(pid);
  }

  /** SIGCONT. */
  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Stops it if it runs, and starts it again with the same arguments, so on the same ports and data. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}

function isAlive(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

function exited(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else {
      child.once('exit', () => resolve());
      // A program that cannot be started emits no exit.
      child.once('error', () => resolve());
    }
  });
}

import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, existsSync } from 'node:fs';
import { eventually } from './eventually.ts';
import { freezeProcess } from './freeze-process.ts';

export interface ChildServerOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Rejects until the server serves. */
  readonly probe: () => Promise<void>;
  /** Milliseconds until a start has failed; 45 s by default. */
  readonly startTimeout?: number | undefined;
  /** Restarts the server when it exits by itself; false by default. */
  readonly supervised?: boolean | undefined;
  /** Variables besides those of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Gets all output of the process, also after restarts. */
  readonly logFile?: string | undefined;
}

/** Size of the end of the output that is kept for error messages. */
const tailLength = 16_384;
const setpriv = '/usr/bin/setpriv';

/**
 * A server as a child process: start, wait until it serves, stop, kill, freeze, thaw, restart.
 *
 * A child does not outlive the test process, even when that is killed: on Linux the kernel kills it with its parent.
 */
export class ChildServer implements AsyncDisposable {
  readonly #options: ChildServerOptions;
  #child: ChildProcess | undefined;
  #tail = '';
  /** From {@link start} until it is stopped or killed. */
  #wanted = false;

  constructor(options: ChildServerOptions) {
    this.#options = options;
  }

  /** Starts the process and waits until it serves. Throws with the end of its output after the timeout. */
  async start(): Promise<void> {
    if (this.running) throw new Error(`${this.#options.name} is already running`);
    await this.#launch();
    this.#wanted = true;
    if (this.#options.supervised === true) void this.#supervise();
  }

  async #launch(): Promise<void> {
    const { name, command, args, env = {}, startTimeout = 45_000, logFile } = this.#options;
    const variables = Object.entries(env).map(([variable, value]) => `${variable}=${value}`);
    const program = variables.length === 0 ? [command, ...args] : ['/usr/bin/env', ...variables, command, ...args];
    const line = existsSync(setpriv) ? [setpriv, '--pdeathsig', 'KILL', ...program] : program;
    const child = spawn(line[0] as string, line.slice(1), {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#tail = '';
    let failure: Error | undefined;
    child.once('error', (error) => (failure = error));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#tail = (this.#tail + text).slice(-tailLength);
        if (logFile !== undefined) appendFileSync(logFile, text);
      });
    }
    const waiting = new AbortController();
    try {
      await Promise.race([
        eventually(this.#options.probe, { timeout: startTimeout, interval: 50, signal: waiting.signal }),
        exited(child).then(() => {
          throw new Error(`exited with ${child.exitCode ?? child.signalCode}`, { cause: failure });
        }),
      ]);
    } catch (error) {
      child.kill('SIGKILL');
      await exited(child);
      throw new Error(`failed to start ${name}; its output ends with:\n${this.#tail}`, { cause: error });
    } finally {
      waiting.abort();
    }
  }

  async #supervise(): Promise<void> {
    for (;;) {
      await exited(this.#child as ChildProcess);
      if (!this.#wanted) return;
      // The failure is in the output of the process; the restart is retried.
      await this.#launch().catch(() => undefined);
    }
  }

  /** True from the start until the process has exited, also while it is frozen. */
  get running(): boolean {
    return this.#child !== undefined && isAlive(this.#child);
  }

  get pid(): number | undefined {
    return this.running ? this.#child?.pid : undefined;
  }

  /** The last lines of output. */
  get output(): string {
    return this.#tail;
  }

  /** SIGTERM, and SIGKILL after `grace` milliseconds. */
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

  /** SIGKILL, as a crash. Resolves once the process has exited; it is not restarted. */
  async kill(): Promise<void> {
    this.#wanted = false;
    await this.crash();
  }

  /** SIGKILL; a supervised server is restarted. */
  async crash(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !isAlive(child)) return;
    child.kill('SIGKILL');
    await exited(child);
  }

  /** SIGSTOP: the process keeps its connections and is unresponsive once this resolves. */
  async freeze(): Promise<void> {
    const pid = this.#child?.pid;
    if (pid !== undefined) await freezeProcess(pid);
  }

  /** SIGCONT. */
  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Stops and starts the server with the same arguments, hence with the same ports and data. */
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
      // A program that cannot be spawned emits no exit event.
      child.once('error', () => resolve());
    }
  });
}

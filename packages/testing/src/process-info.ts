import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { MissingPrerequisiteError } from './unless-missing.ts';

/** What {@link ProcessInfo} asks of the machine. */
export interface ProcessInfoModules {
  readonly platform: string;
  /** Throws where there is no such file. */
  readonly readFile: (path: string) => string;
  readonly listFolder: (path: string) => readonly string[];
  /** Runs a program and returns what it prints. Throws when it fails. */
  readonly run: (program: string, args: readonly string[]) => string;
}

const machine: ProcessInfoModules = {
  platform: process.platform,
  readFile: (path) => readFileSync(path, 'latin1'),
  listFolder: (path) => readdirSync(path),
  run: (program, args) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
};

/** What the operating system knows about a process: proc(5) on Linux, ps and lsof elsewhere. All methods but `arguments` throw for unknown processes. */
export class ProcessInfo {
  readonly #modules: ProcessInfoModules;

  constructor(modules: ProcessInfoModules = machine) {
    this.#modules = modules;
  }

  get #hasProc(): boolean {
    return this.#modules.platform === 'linux';
  }

  /** The program and its arguments, with a space after each; empty when there is no such process. */
  arguments(pid: number): string {
    try {
      if (this.#hasProc) return this.#modules.readFile(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
      return `${this.#modules.run('ps', ['-o', 'args=', '-p', String(pid)]).trim()} `;
    } catch {
      return '';
    }
  }

  /** Memory in bytes: resident as a whole, and the anonymous part (without files that are mapped). Without proc(5) they are the same. */
  memory(pid: number): { readonly resident: number; readonly anonymous: number } {
    if (this.#hasProc) {
      const status = this.#modules.readFile(`/proc/${pid}/status`);
      const bytes = (name: string): number =>
        Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024;
      return { resident: bytes('VmRSS'), anonymous: bytes('RssAnon') };
    }
    const resident = Number(this.#modules.run('ps', ['-o', 'rss=', '-p', String(pid)]).trim()) * 1024;
    return { resident, anonymous: resident };
  }

  /** Number of open file descriptors. */
  openFiles(pid: number): number {
    if (this.#hasProc) return this.#modules.listFolder(`/proc/${pid}/fd`).length;
    // One line for the process, then one for each descriptor; `fcwd`, `ftxt` and other files that it uses have no number.
    const lines = this.#modules.run('lsof', ['-n', '-P', '-F', 'f', '-p', String(pid)]).split('\n');
    return lines.filter((line) => /^f\d/.test(line)).length;
  }

  /**
   * Milliseconds that the main thread has worked. Throws a {@link MissingPrerequisiteError} where the system counts only whole
   * processes: threads that compress and compile would count as work of the main one.
   */
  mainThreadMs(pid: number): number {
    if (!this.#hasProc)
      throw new MissingPrerequisiteError(
        `${this.#modules.platform} does not tell the processor time of a thread; use Linux`,
      );
    // schedstat counts nanoseconds.
    return Number(this.#modules.readFile(`/proc/${pid}/task/${pid}/schedstat`).split(' ', 1)[0]) / 1e6;
  }

  /** The states of all threads in letters of ps(1): `T` is stopped, `Z` and `X` have ended. Empty when there is no such process. */
  threadStates(pid: number): readonly string[] {
    try {
      if (!this.#hasProc) {
        const states = this.#modules.run('ps', ['-o', 'state=', '-p', String(pid)]);
        return states
          .trim()
          .split('\n')
          .map((line) => line.trim().slice(0, 1));
      }
      const tasks = `/proc/${pid}/task`;
      return this.#modules.listFolder(tasks).flatMap((thread) => this.#threadState(`${tasks}/${thread}/stat`));
    } catch {
      return [];
    }
  }

  /** None for a thread that has ended meanwhile. */
  #threadState(file: string): readonly string[] {
    try {
      const stat = this.#modules.readFile(file);
      // The program name in parentheses may contain any character.
      return [stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3)];
    } catch {
      return [];
    }
  }
}

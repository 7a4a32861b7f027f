import { execFile, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { ComposeHealthCheck } from './compose-file.ts';

export const repository = join(import.meta.dirname, '..', '..');
/** Images, volumes and settings of the suites; survives them, so that a second run finds what the first one has built. */
export const cache = join(repository, '.cache', 'containers');

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process of a container: what replaces the entry point of its image, and what its command line begins with. */
export interface Entrypoint {
  readonly flags: readonly string[];
  readonly words: readonly string[];
}

/** How an engine wants to be asked for what every engine does in its own way. */
export interface EngineDialect {
  /** Flags of every container: its log driver. */
  readonly create: readonly string[];
  /** Flags of a container whose root is read-only: nothing writable is added. */
  readonly readOnly: readonly string[];
  readonly entrypoint: (words: readonly string[]) => Entrypoint;
  /** Flags that give a container its health check. */
  readonly health: (check: ComposeHealthCheck) => readonly string[];
  /** The arguments that run the health check of a container once: 0 is healthy. */
  readonly checkHealth: (container: string, check: ComposeHealthCheck) => readonly string[];
  /** Flags of `import` for a platform. */
  readonly importFor: (os: string, architecture: string) => readonly string[];
  /** One name can be several images, each for a platform. */
  readonly severalPlatforms: boolean;
  /** Its builder can give every file, and the image itself, the date of the commit. */
  readonly rewritesTimestamps: boolean;
  /** Images, volumes and networks are those of the machine's user too. */
  readonly shared: boolean;
}

/** A program that runs containers: {@link podman} or {@link docker}. */
export class ContainerEngine {
  /** The binary. */
  readonly command: 'podman' | 'docker';
  readonly dialect: EngineDialect;
  readonly #env: NodeJS.ProcessEnv;
  constructor(command: 'podman' | 'docker', dialect: EngineDialect, env: NodeJS.ProcessEnv) {
    this.command = command;
    this.dialect = dialect;
    this.#env = env;
  }

  /** For programs that call the engine themselves. */
  get env(): NodeJS.ProcessEnv {
    return this.#env;
  }

  /** Standard output. Throws with what the command has said. */
  sync(args: readonly string[], options: { readonly timeout?: number; readonly input?: string } = {}): string {
    return execFileSync(this.command, args, {
      env: this.#env,
      encoding: 'utf8',
      stdio: 'pipe',
      maxBuffer: maximum,
      ...options,
    });
  }

  succeeds(args: readonly string[]): boolean {
    try {
      this.sync(args);
      return true;
    } catch {
      return false;
    }
  }

  /** Runs to the end, whatever the outcome. */
  run(args: readonly string[]): Promise<Output> {
    return new Promise((resolve) => {
      execFile(
        this.command,
        args,
        { env: this.#env, encoding: 'utf8', maxBuffer: maximum },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
          resolve({ code, stdout, stderr: code < 0 ? `${stderr}${error?.message ?? ''}` : stderr });
        },
      );
    });
  }

  /** Standard output of a command that must succeed. */
  async ok(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args);
    if (code !== 0) throw new Error(`${this.command} ${args.join(' ')} ended with ${code}:\n${stderr}${stdout}`);
    return stdout;
  }
}

const maximum = 64 << 20;

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientConfigOf, readKubeconfig, RestTransport } from '@multiplane/client';
import { eventually, freePorts, ProcessInfo } from '@multiplane/testing';
import { processorSeconds } from '../processor-time.ts';

const repository = join(import.meta.dirname, '..', '..', '..');
export const node = join(repository, 'hack', 'node');

/** The longest holds of an event loop, in milliseconds. */
export interface Hold {
  /** Without the time in which others had the processor. */
  readonly own: number;
  readonly byClock: number;
  /** Processor time of the thread between two looks. */
  readonly worked: number;
}

/** A control plane under measurement: `multiplane start` from the sources, with its memory and its log at hand. */
export class ServerProcess {
  readonly directory: string;
  readonly port: number;
  #child: ChildProcess | undefined;
  #log = '';

  readonly #args: readonly string[];

  private constructor(directory: string, port: number, args: readonly string[]) {
    this.directory = directory;
    this.port = port;
    this.#args = args;
  }

  /** `args` are further flags; `FOLDER` in them stands for the root directory. */
  static async create(args: readonly string[] = []): Promise<ServerProcess> {
    const [port] = await freePorts(1);
    const directory = await mkdtemp(join(tmpdir(), 'multiplane-bench-'));
    return new ServerProcess(
      directory,
      port as number,
      args.map((arg) => arg.replace('FOLDER', directory)),
    );
  }

  /** Starts it; resolves when it is ready, with the milliseconds until the first LIST of a path was answered. */
  async start(path = '/clusters/root/api/v1/namespaces'): Promise<number> {
    const began = performance.now();
    const child = spawn(
      join(repository, 'bin', 'multiplane'),
      [
        'start',
        '--root-directory',
        this.directory,
        '--bind-address',
        '127.0.0.1',
        '--secure-port',
        String(this.port),
        ...this.#args,
      ],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: {
          ...process.env,
          BENCH_MEMORY_FILE: this.#memoryFile,
          NODE_OPTIONS: `--import=${join(import.meta.dirname, 'collect-on-signal.mjs')}`,
        },
      },
    );
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#log += text));
    this.#child = child;
    await eventually(
      async () => {
        const transport = this.transport();
        try {
          await transport.json({ method: 'GET', path });
        } finally {
          transport.close();
        }
      },
      { timeout: 600_000, interval: 5 },
    );
    const answered = performance.now() - began;
    await eventually(() => this.bytes('/readyz'), { timeout: 600_000, interval: 5 });
    return answered;
  }

  transport(): RestTransport {
    const file = join(this.directory, 'admin.kubeconfig');
    return new RestTransport({ config: clientConfigOf(readKubeconfig(file), file, 'shard-base'), maxSockets: 64 });
  }
  get #memoryFile(): string {
    return join(this.directory, 'memory.json');
  }
  get #holdsFile(): string {
    return `${this.#memoryFile}.holds`;
  }
  get token(): string {
    const file = join(this.directory, 'admin.kubeconfig');
    return clientConfigOf(readKubeconfig(file), file, 'shard-base').token as string;
  }

  /** Memory in bytes: resident as a whole, and the anonymous part (without files that are mapped). */
  memory(): { resident: number; anonymous: number } {
    return new ProcessInfo().memory(this.pid);
  }

  /** Anonymous memory after the server has collected its garbage, and what its heap and buffers hold of it; bytes. */
  async retained(): Promise<{ anonymous: number; held: number }> {
    const { held } = await this.#collected();
    return { anonymous: this.memory().anonymous, held };
  }

  async #collected(): Promise<{ held: number; longestHold: Hold }> {
    rmSync(this.#memoryFile, { force: true });
    process.kill(this.pid, 'SIGUSR2');
    const read = (): { held: number; longestHold: Hold } =>
      JSON.parse(readFileSync(this.#memoryFile, 'utf8')) as { held: number; longestHold: Hold };
    await eventually(() => void read(), { timeout: 600_000 });
    return read();
  }

  get pid(): number {
    return this.#child?.pid as number;
  }

  /** Seconds of processor time that the server has used. */
  get processorSeconds(): number {
    return processorSeconds(this);
  }

  /** Longest times the event loop was held since the server listened, in any of its runs. */
  async longestHold(): Promise<Hold> {
    const { longestHold } = await this.#collected();
    const lines = existsSync(this.#holdsFile) ? readFileSync(this.#holdsFile, 'utf8').trim().split('\n') : [];
    const all = [longestHold, ...lines.map((line) => JSON.parse(line) as Hold)];
    return {
      own: Math.max(...all.map(({ own }) => own)),
      byClock: Math.max(...all.map(({ byClock }) => byClock)),
      worked: Math.max(...all.map(({ worked }) => worked)),
    };
  }

  /** The body of a successful GET, unread. */
  async bytes(path: string): Promise<Buffer> {
    const transport = this.transport();
    try {
      const response = await transport.open({ method: 'GET', path });
      const chunks: Buffer[] = [];
      for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
      if (response.statusCode !== 200) throw new Error(`${path} was answered with ${response.statusCode}`);
      return Buffer.concat(chunks);
    } finally {
      transport.close();
    }
  }

  get log(): string {
    return this.#log;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}

import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChildServer, freePorts, TempDir } from '@multiplane/testing';
import { LocalAccess } from './local-access.ts';
import { tokenFileText } from './local-cluster.ts';

const multiplane = join(import.meta.dirname, '..', '..', 'bin', 'multiplane');
/** The front-proxy, two shards, the cache server and the console: their ports keep their distances. */
const distances = [0, 1, 2, 8012 - 6443, 8443 - 6443];

/** `multiplane start` on one root directory, with `--shards` or without, one run after the other. */
export class StartedShards extends LocalAccess implements AsyncDisposable {
  readonly #directory: TempDir;
  #server: ChildServer | undefined;

  private constructor(directory: TempDir, port: number) {
    super({ directory: directory.path, port });
    this.#directory = directory;
    writeFileSync(this.path('tokens.csv'), tokenFileText(), { mode: 0o600 });
  }

  static async create(): Promise<StartedShards> {
    const directory = await TempDir.create('start-shards');
    for (;;) {
      const [port] = (await freePorts(1)) as [number];
      const areFree = await Promise.all(distances.map((distance) => isFree(port + distance)));
      if (areFree.every(Boolean)) return new StartedShards(directory, port);
    }
  }

  #args(flags: readonly string[]): string[] {
    return [
      'start',
      `--root-directory=${this.path('root')}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${this.port}`,
      `--token-auth-file=${this.path('tokens.csv')}`,
      ...flags,
    ];
  }

  /** Starts it and waits until it is ready. */
  async start(...flags: readonly string[]): Promise<void> {
    this.#server = new ChildServer({
      name: 'multiplane start',
      command: multiplane,
      args: this.#args(flags),
      startTimeout: 90_000,
      logFile: this.path('server.log'),
      probe: () => this.ready('base'),
    });
    await this.#server.start();
  }

  /** Standard error of a start that must fail. */
  fails(...flags: readonly string[]): string {
    const { status, stderr } = spawnSync(multiplane, this.#args(flags), { encoding: 'utf8', timeout: 60_000 });
    if (status !== 1) throw new Error(`multiplane start ended with ${status}: ${stderr}`);
    return stderr;
  }

  async stop(): Promise<void> {
    await this.#server?.stop(60_000);
  }

  /** SIGKILL of the supervisor alone. */
  async kill(): Promise<void> {
    await this.#server?.kill();
  }

  /** Of the supervisor, or of the one process. */
  get pid(): number | undefined {
    return this.#server?.pid;
  }

  /** The processes by their names, with the last number of each, as the log tells. */
  get processes(): ReadonlyMap<string, number> {
    const lines = this.log().matchAll(/process is ready name=(\S+) pid=(\d+)/g);
    return new Map([...lines].map(([, name, pid]) => [name as string, Number(pid)]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#directory.remove();
  }
}

async function isFree(port: number): Promise<boolean> {
  const listener = createServer();
  listener.listen(port, '127.0.0.1');
  try {
    await once(listener, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    listener.close();
  }
}

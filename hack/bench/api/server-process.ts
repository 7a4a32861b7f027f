import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientConfigOf, readKubeconfig, RestTransport } from '@multiplane/client';
import { eventually, freePorts } from '@multiplane/testing';

const repository = join(import.meta.dirname, '..', '..', '..');
export const node = join(repository, 'hack', 'node');

/** A control plane under measurement: `multiplane start` from the sources, with its memory and its log at hand. */
export class ServerProcess {
  readonly directory: string;
  readonly port: number;
  #child: ChildProcess | undefined;
  #log = '';

  private constructor(directory: string, port: number) {
    this.directory = directory;
    this.port = port;
  }

  static async create(): Promise<ServerProcess> {
    const [port] = await freePorts(1);
    return new ServerProcess(await mkdtemp(join(tmpdir(), 'multiplane-bench-')), port as number);
  }

  /** Starts it; resolves with the milliseconds until the first LIST of a path was answered. */
  async start(path = '/clusters/root/api/v1/namespaces'): Promise<number> {
    const began = performance.now();
    const main = join(repository, 'packages', 'multiplane', 'dist', 'main.js');
    const child = spawn(
      node,
      [
        main,
        'start',
        '--root-directory',
        this.directory,
        '--bind-address',
        '127.0.0.1',
        '--secure-port',
        String(this.port),
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
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
      { timeout: 60_000, interval: 5 },
    );
    return performance.now() - began;
  }

  transport(): RestTransport {
    const file = join(this.directory, 'admin.kubeconfig');
    return new RestTransport({ config: clientConfigOf(readKubeconfig(file), file, 'shard-base'), maxSockets: 64 });
  }
  get token(): string {
    const file = join(this.directory, 'admin.kubeconfig');
    return clientConfigOf(readKubeconfig(file), file, 'shard-base').token as string;
  }

  /** Memory in bytes: resident as a whole, and the anonymous part (without files that are mapped). */
  memory(): { resident: number; anonymous: number } {
    const status = readFileSync(`/proc/${this.#child?.pid}/status`, 'utf8');
    const kilobytes = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024;
    return { resident: kilobytes('VmRSS'), anonymous: kilobytes('RssAnon') };
  }

  /** Longest time the event loop was held, as its monitor has told so far; milliseconds. */
  async longestHold(): Promise<number> {
    const transport = this.transport();
    const response = await transport.open({ method: 'GET', path: '/metrics' });
    let text = '';
    for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString();
    transport.close();
    const gauge = Number(/multiplane_event_loop_delay_seconds\{quantile="1"\} (\S+)/.exec(text)?.[1] ?? 0) * 1000;
    const warned = [...this.#log.matchAll(/event loop.*?max=(\d+)/g)].map((match) => Number(match[1]));
    return Math.max(gauge, ...warned);
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

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChildServer, freePorts, TempDir } from '@multiplane/testing';
import { readFileSync } from 'node:fs';
import { askHealth } from '../../packages/multiplane/src/topology/index.ts';
import type { ControlPlane } from './control-plane.ts';

const multiplane = join(import.meta.dirname, '..', '..', 'bin', 'multiplane');

/** `multiplane console` before a control plane, as a process of its own. */
export class ConsoleProcess implements AsyncDisposable {
  readonly #directory: TempDir;
  readonly #server: ChildServer;
  readonly url: string;

  private constructor(directory: TempDir, server: ChildServer, url: string) {
    this.#directory = directory;
    this.#server = server;
    this.url = url;
  }

  static async start(
    control: Pick<ControlPlane, 'url' | 'ca'>,
    flags: readonly string[] = [],
  ): Promise<ConsoleProcess> {
    const directory = await TempDir.create('console');
    const [port] = await freePorts(1);
    const url = `https://127.0.0.1:${port}`;
    writeFileSync(directory.join('api-ca.crt'), control.ca);
    const server = new ChildServer({
      name: 'console',
      command: multiplane,
      args: [
        'console',
        `--root-directory=${directory.path}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${port}`,
        `--api-server-url=${control.url}`,
        `--api-server-ca-file=${directory.join('api-ca.crt')}`,
        ...flags,
      ],
      startTimeout: 60_000,
      logFile: directory.join('console.log'),
      probe: async () => {
        const said = await askHealth({ url: `${url}/readyz`, ca: directory.join('ca.crt') });
        if (said !== 'ready') throw new Error(said);
      },
    });
    await server.start();
    return new ConsoleProcess(directory, server, url);
  }

  get ca(): string {
    return readFileSync(this.#directory.join('ca.crt'), 'utf8');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
    await this.#directory.remove();
  }
}

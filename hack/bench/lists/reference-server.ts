import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RestTransport } from '@multiplane/client';
import { eventually, freePorts } from '@multiplane/testing';
import { many } from '../load.ts';

const script = join(import.meta.dirname, '..', '..', 'conformance', 'reference');

/** A kube-apiserver with its etcd and controllers, started by `hack/conformance/reference`. */
export class ReferenceServer {
  readonly port: number;
  readonly token: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(child: ChildProcess, folder: string, port: number) {
    this.#child = child;
    this.#folder = folder;
    this.port = port;
    this.token = (JSON.parse(readFileSync(join(folder, 'tokens.json'), 'utf8')) as { admin: string }).admin;
  }

  /** `binaries`: a folder with kube-apiserver, kube-controller-manager and etcd. */
  static async start(binaries: string): Promise<ReferenceServer> {
    const folder = mkdtempSync(join(tmpdir(), 'multiplane-bench-reference-'));
    const [port] = (await freePorts(1)) as [number];
    const child = spawn(script, [binaries, folder, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
    // It prints the flags of the comparison when it is ready.
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error(`${script} failed; logs are in ${folder}`);
    return new ReferenceServer(child, folder, port);
  }

  /** Creates objects of the namespace `default`. */
  async fill(count: number, objectText: (name: string) => string): Promise<void> {
    const config = {
      server: `https://127.0.0.1:${this.port}`,
      ca: readFileSync(join(this.#folder, 'ca.crt'), 'utf8'),
      token: this.token,
    };
    const transport = new RestTransport({ config, maxSockets: 32 });
    const path = '/api/v1/namespaces/default/configmaps';
    // The namespace is created a moment after the server is ready.
    await eventually(() => transport.json({ method: 'GET', path: '/api/v1/namespaces/default' }), { timeout: 60_000 });
    await many(count, 32, (n) => transport.json({ method: 'POST', path, body: objectText(`object-${n}`) }));
    transport.close();
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

import type { Certificate } from '@multiplane/component-base';
import { writeFile } from 'node:fs/promises';
import { ChildServer } from './child-server.ts';
import { findBinary } from './find-binary.ts';
import { freePorts } from './free-ports.ts';
import { httpProbe } from './http-probe.ts';
import { TempDir } from './temp-dir.ts';

export interface EtcdOptions {
  /** Makes etcd serve TLS and require client certificates of this CA. */
  readonly tls?: { readonly authorityPem: string; readonly server: Certificate } | undefined;
  readonly extraArgs?: readonly string[] | undefined;
}

/**
 * An etcd of one member on loopback, with its data in a temporary folder.
 *
 * `process.restart()` keeps data and ports, `process.freeze()` makes it hang, `process.kill()` is a crash.
 */
export class EtcdServer implements AsyncDisposable {
  readonly process: ChildServer;
  /** Client URL. */
  readonly endpoint: string;
  readonly port: number;
  readonly #data: TempDir;

  private constructor(process: ChildServer, endpoint: string, port: number, data: TempDir) {
    this.process = process;
    this.endpoint = endpoint;
    this.port = port;
    this.#data = data;
  }

  /** Starts etcd; retries with other ports when another process took the first ones. */
  static async start(options: EtcdOptions = {}): Promise<EtcdServer> {
    for (let attempt = 1; ; attempt++) {
      const server = await EtcdServer.#prepare(options);
      try {
        await server.process.start();
        return server;
      } catch (error) {
        await server.#data.remove();
        if (attempt === 3 || !server.process.output.includes('address already in use')) throw error;
      }
    }
  }

  static async #prepare({ tls, extraArgs = [] }: EtcdOptions): Promise<EtcdServer> {
    const binary = findBinary('etcd');
    const data = await TempDir.create('etcd');
    const [port = 0, peerPort = 0, metricsPort = 0] = await freePorts(3);
    const endpoint = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
    const peer = `http://127.0.0.1:${peerPort}`;
    const metrics = `http://127.0.0.1:${metricsPort}`;
    const args = [
      '--name=default',
      `--data-dir=${data.join('member')}`,
      `--listen-client-urls=${endpoint}`,
      `--advertise-client-urls=${endpoint}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      // The health endpoint is plain HTTP even when clients use TLS.
      `--listen-metrics-urls=${metrics}`,
      '--logger=zap',
      '--log-level=warn',
      ...(tls === undefined ? [] : await tlsArgs(data, tls)),
      ...extraArgs,
    ];
    const process = new ChildServer({
      name: 'etcd',
      command: binary,
      args,
      probe: () => httpProbe(`${metrics}/health`),
    });
    return new EtcdServer(process, endpoint, port, data);
  }

  /** Folder of the data, for a test that replaces it while etcd is stopped. */
  get data(): string {
    return this.#data.join('member');
  }

  /** A request to the gRPC gateway, as `maintenance/alarm` or `kv/compaction`. Throws for an answer that is not 200. */
  async gateway(path: string, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.endpoint}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`etcd answered ${response.status} to ${path}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  /** Kills etcd and removes its data. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
    await this.#data.remove();
  }
}

async function tlsArgs(data: TempDir, tls: NonNullable<EtcdOptions['tls']>): Promise<string[]> {
  const [authority, certificate, key] = [data.join('ca.crt'), data.join('server.crt'), data.join('server.key')];
  await Promise.all([
    writeFile(authority, tls.authorityPem),
    writeFile(certificate, tls.server.certificatePem),
    writeFile(key, tls.server.privateKeyPem, { mode: 0o600 }),
  ]);
  return [`--cert-file=${certificate}`, `--key-file=${key}`, `--trusted-ca-file=${authority}`, '--client-cert-auth'];
}

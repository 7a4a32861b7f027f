import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ChildServer } from './child-server.ts';
import { eventually } from './eventually.ts';
import { findBinary } from './find-binary.ts';
import { freePorts } from './free-ports.ts';
import { httpProbe } from './http-probe.ts';
import { jetStreamApi } from './jetstream-api.ts';
import { TempDir } from './temp-dir.ts';

export interface NatsOptions {
  /** Maximum message size; NATS' default is 1 MiB. */
  readonly maxPayloadBytes?: number | undefined;
  /** The block `jetstream` of its configuration. */
  readonly jetstream?: string | undefined;
  readonly extraArgs?: readonly string[] | undefined;
}

/**
 * A NATS server with JetStream on loopback, with its streams in a temporary folder.
 *
 * `process.restart()` keeps streams and ports, `process.freeze()` makes it hang, `process.kill()` is a crash. It is
 * supervised, because NATS 2.9 crashes when a stream is read while it is being created.
 */
export class NatsServer implements AsyncDisposable {
  readonly process: ChildServer;
  /** Client URL: `nats://host:port`. */
  readonly url: string;
  readonly port: number;
  readonly #data: TempDir;
  readonly #probe: () => Promise<unknown>;

  private constructor(process: ChildServer, port: number, data: TempDir, probe: () => Promise<unknown>) {
    this.process = process;
    this.#probe = probe;
    this.url = `nats://127.0.0.1:${port}`;
    this.port = port;
    this.#data = data;
  }

  /** Starts NATS; retries with other ports when another process took the first ones. */
  static async start(options: NatsOptions = {}): Promise<NatsServer> {
    for (let attempt = 1; ; attempt++) {
      const server = await NatsServer.#prepare(options);
      try {
        await server.process.start();
        return server;
      } catch (error) {
        await server.#data.remove();
        if (attempt === 3 || !server.process.output.includes('address already in use')) throw error;
      }
    }
  }

  static async #prepare({ extraArgs = [], maxPayloadBytes = 1 << 20, jetstream }: NatsOptions): Promise<NatsServer> {
    const binary = findBinary('nats-server');
    const data = await TempDir.create('nats');
    const [port = 0, monitorPort = 0] = await freePorts(2);
    const config = join(data.path, 'nats.conf');
    const block = jetstream === undefined ? '' : `jetstream { ${jetstream} }\n`;
    await writeFile(config, `max_payload: ${maxPayloadBytes}\n${block}`);
    const args = [
      `--config=${config}`,
      '--addr=127.0.0.1',
      `--port=${port}`,
      `--http_port=${monitorPort}`,
      '--jetstream',
      `--store_dir=${data.path}`,
      ...extraArgs,
    ];
    const probe = (): Promise<void> => httpProbe(`http://127.0.0.1:${monitorPort}/healthz`);
    const process = new ChildServer({
      name: 'nats-server',
      command: binary,
      args,
      probe,
      supervised: true,
    });
    return new NatsServer(process, port, data, probe);
  }

  /**
   * Deletes a stream, as a lost disk would. Throws with `stream not found` in the message when it does not exist. When the
   * server crashes because readers recreate the stream at the same moment, its response is lost, and this resolves after the
   * restart.
   */
  async loseStream(name: string): Promise<void> {
    const answer = await jetStreamApi(this, `STREAM.DELETE.${name}`);
    if (answer === undefined) await eventually(this.#probe, { timeout: 30_000 });
  }

  /**
   * Removes the messages of a stream, or those whose subject matches a filter, as `nats stream purge [--subject]` does; it
   * exists further, and its sequences continue.
   */
  async purgeStream(name: string, filter?: string): Promise<void> {
    await jetStreamApi(this, `STREAM.PURGE.${name}`, filter === undefined ? undefined : { filter });
  }

  /** Folder of the streams. */
  get data(): string {
    return this.#data.path;
  }

  /** Kills NATS and removes its streams. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
    await this.#data.remove();
  }
}

import type { EmbedServer } from '@multiplane/apiserver';
import { clientConfigOf, readKubeconfig, RestClient, RestTransport } from '@multiplane/client';
import { createLogger, parseOptions } from '@multiplane/component-base';
import { completeShardOptions, runShard, shardOptionTable } from '@multiplane/shard';
import { eventually } from '../eventually.ts';
import { freePorts } from '../free-ports.ts';
import { TempDir } from '../temp-dir.ts';

/** A shard in the test's process, by default with in-memory storage. */
export class InProcessShard implements AsyncDisposable {
  readonly client: RestClient;
  readonly transport: RestTransport;
  readonly directory: TempDir;
  readonly #abort: AbortController;
  readonly #running: Promise<void>;

  private constructor(directory: TempDir, transport: RestTransport, abort: AbortController, running: Promise<void>) {
    this.directory = directory;
    this.transport = transport;
    this.client = new RestClient({ transport });
    this.#abort = abort;
    this.#running = running;
  }

  static async start(
    flags: readonly string[] = ['--storage-backend=memory'],
    folder?: TempDir,
    embedded: readonly EmbedServer[] = [],
  ): Promise<InProcessShard> {
    const directory = folder ?? (await TempDir.create('shard'));
    const [port] = await freePorts(1);
    const args = [
      '--root-directory',
      directory.join('root'),
      '--bind-address',
      '127.0.0.1',
      '--secure-port',
      String(port),
      ...flags,
    ];
    const options = completeShardOptions(parseOptions(shardOptionTable, { args }).values);
    const abort = new AbortController();
    const lines: string[] = [];
    const logger = createLogger({ level: 'warn', format: 'text' }, { write: (line) => void lines.push(line) });
    const running = runShard(options, { logger, signal: abort.signal, version: 'test', embedded });
    const ready = eventually(
      async () => {
        const transport = new RestTransport({
          config: clientConfigOf(readKubeconfig(options.kubeconfigPath), options.kubeconfigPath, 'shard-base'),
        });
        const response = await transport.open({ method: 'GET', path: '/readyz' });
        response.resume();
        if (response.statusCode === 200) return transport;
        transport.close();
        throw new Error(`/readyz returned ${response.statusCode}`);
      },
      { timeout: 50_000 },
    );
    const ended = running.then(() => {
      throw new Error(`the shard exited during the start:\n${lines.join('')}`);
    });
    return new InProcessShard(directory, await Promise.race([ready, ended]), abort, running);
  }

  /** Stops the shard gracefully and keeps its folder; idempotent. */
  async stop(): Promise<void> {
    this.transport.close();
    this.#abort.abort();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.directory.remove();
  }
}

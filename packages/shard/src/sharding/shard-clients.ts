import { statusErrors, type DeepReadonly } from '@multiplane/apimachinery';
import {
  readKubeconfig,
  RestClient,
  RestTransport,
  watchClientConfig,
  type ClientConfig,
  type InformerSource,
  type ObjectClient,
  type RestClientMetrics,
} from '@multiplane/client';
import type { CertificateWatcher, Runnable } from '@multiplane/component-base';
import { shardReference, shards, type Shard } from '@multiplane/controllers';
import type { ShardOptions } from '../options.ts';

interface Modules {
  readonly certificates: CertificateWatcher;
  /** Replicated kinds of all shards. */
  readonly globalInformers: InformerSource;
  /** The loopback client of this shard. */
  readonly local: ObjectClient;
  readonly restMetrics: RestClientMetrics;
}

/** An unresponsive shard must not block a controller worker; the caller retries later. */
const idleTimeoutMs = 10_000;

/**
 * Clients for other shards and the front-proxy, each with the identity of its kubeconfig flag. A client is created on first use
 * and recreated when the URL of its shard changes; certificates follow their files.
 */
export class ShardClients implements Runnable {
  readonly name = 'clients of other shards';
  readonly #options: ShardOptions;
  readonly #modules: Modules;
  readonly #configs = new Map<string, () => ClientConfig>();
  readonly #transports = new Map<string, { readonly url: string; readonly transport: RestTransport }>();

  constructor(options: ShardOptions, modules: Modules) {
    this.#options = options;
    this.#modules = modules;
    // Invalid files fail the start, not the first use.
    for (const [file, context] of [
      [options.rootShardKubeconfigFile, shardContext],
      [adminFile(options), undefined],
      [options.externalLogicalClusterAdminKubeconfig, undefined],
    ] as const)
      if (file !== undefined) this.#config(file, context);
  }

  async start(): Promise<void> {}

  /** Aborts requests in flight, so that shutdown does not wait for an unresponsive server. */
  async stop(): Promise<void> {
    for (const { transport } of this.#transports.values()) transport.close();
  }

  /** Client with full rights for the root shard: the loopback client, or that of `--root-shard-kubeconfig-file`. */
  get root(): ObjectClient {
    const file = this.#options.rootShardKubeconfigFile;
    return file === undefined ? this.#modules.local : this.#client('root', this.#config(file, shardContext));
  }

  /** Whether {@link admin} has an identity for the shard. */
  canReach(shard: string): boolean {
    return shard === this.#options.shardName || adminFile(this.#options) !== undefined;
  }

  /**
   * Client for a shard at its base URL, as the logical cluster admin, else as `--shard-kubeconfig-file`. Throws NotFound for
   * an unknown shard.
   */
  admin(shard: string): ObjectClient {
    if (shard === this.#options.shardName) return this.#modules.local;
    const file = adminFile(this.#options);
    if (file === undefined)
      throw new Error(
        `--logical-cluster-admin-kubeconfig or --shard-kubeconfig-file is needed to reach the shard ${JSON.stringify(shard)}`,
      );
    const config = this.#config(file);
    const url = this.#shard(shard).spec.baseURL;
    return this.#client(`shard ${shard}`, withServer(config, url), url);
  }

  /** Client for logical clusters on any shard, through the front-proxy; undefined without an identity for it. */
  get external(): ObjectClient | undefined {
    const file = this.#options.externalLogicalClusterAdminKubeconfig;
    return file === undefined ? undefined : this.#client('external', this.#config(file));
  }

  /** The transport of {@link external}, for requests that are not for objects. */
  get externalTransport(): RestTransport | undefined {
    const file = this.#options.externalLogicalClusterAdminKubeconfig;
    return file === undefined ? undefined : this.#transport('external', this.#config(file));
  }

  #shard(name: string): DeepReadonly<Shard> {
    const shard = this.#modules.globalInformers.informer<Shard>(shards).get(shardReference(name));
    if (shard === undefined) throw statusErrors.notFound(shards, name);
    return shard;
  }

  #client(key: string, config: () => ClientConfig, url = ''): ObjectClient {
    return new RestClient({ transport: this.#transport(key, config, url) });
  }

  #transport(key: string, config: () => ClientConfig, url = ''): RestTransport {
    let known = this.#transports.get(key);
    if (known === undefined || known.url !== url) {
      known?.transport.close();
      const metrics = this.#modules.restMetrics;
      known = { url, transport: new RestTransport({ config, userAgent: 'multiplane-shard', idleTimeoutMs, metrics }) };
      this.#transports.set(key, known);
    }
    return known.transport;
  }

  #config(file: string, context?: string): () => ClientConfig {
    let config = this.#configs.get(file);
    if (config === undefined) {
      const has = context !== undefined && readKubeconfig(file).contexts.some(({ name }) => name === context);
      const watched = watchClientConfig(
        { file, context: has ? context : undefined },
        { watcher: this.#modules.certificates },
      );
      config = (): ClientConfig => watched.current;
      this.#configs.set(file, config);
    }
    return config;
  }
}

/** The logical cluster admin has fewer rights than the identity of `--shard-kubeconfig-file`, so it takes precedence. */
const adminFile = (options: ShardOptions): string | undefined =>
  options.logicalClusterAdminKubeconfig ?? options.shardKubeconfigFile;

/** The context of a kubeconfig that addresses a shard without a workspace path; used if the file has it. */
const shardContext = 'shard-base';

/** Replaces the server. Returns the same object while the configuration is unchanged, which keeps connections alive. */
function withServer(config: () => ClientConfig, server: string): () => ClientConfig {
  let from: ClientConfig | undefined;
  let result: ClientConfig | undefined;
  return () => {
    const current = config();
    if (result === undefined || from !== current) {
      from = current;
      result = { ...current, server, serverName: undefined };
    }
    return result;
  };
}

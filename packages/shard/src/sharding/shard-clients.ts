import { statusErrors, type DeepReadonly } from '@multiplane/apimachinery';
import {
  readKubeconfig,
  RestClient,
  RestTransport,
  watchClientConfig,
  type ClientConfig,
  type InformerSource,
  type ObjectClient,
} from '@multiplane/client';
import type { CertificateWatcher, Runnable } from '@multiplane/component-base';
import { shardReference, shards, type Shard } from '@multiplane/controllers';
import type { ShardOptions } from '../options.ts';

interface Modules {
  readonly certificates: CertificateWatcher;
  /** Of the whole installation. */
  readonly globalInformers: InformerSource;
  /** Writes on this shard, with every right. */
  readonly local: ObjectClient;
}

/** A shard that does not answer must not hold a worker: whoever asked tries again later. */
const silenceMs = 10_000;

/**
 * Clients of a shard for the other servers (C11.5), each in the name of the identity meant for it: made when first used,
 * kept as long as the URL stays the same, and always with the certificates that lie in the files now.
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
    // A file that cannot be used is told at the start, not when it is first needed.
    for (const [file, context] of [
      [options.rootShardKubeconfigFile, shardContext],
      [adminFile(options), undefined],
      [options.externalLogicalClusterAdminKubeconfig, undefined],
    ] as const)
      if (file !== undefined) this.#config(file, context);
  }

  async start(): Promise<void> {}

  /** Cuts off what is under way, so that nobody waits for a server that is silent. */
  async stop(): Promise<void> {
    for (const { transport } of this.#transports.values()) transport.close();
  }

  /** The root shard, with every right: this one, or the one of `--root-shard-kubeconfig-file`. */
  get root(): ObjectClient {
    const file = this.#options.rootShardKubeconfigFile;
    return file === undefined ? this.#modules.local : this.#client('root', this.#config(file, shardContext));
  }

  /** True where {@link admin} has somebody to be. */
  mayUse(shard: string): boolean {
    return shard === this.#options.shardName || adminFile(this.#options) !== undefined;
  }

  /** A shard at its own URL, as the logical-cluster-admin or else as `--shard-kubeconfig-file` says. Throws NotFound for a shard that is not known. */
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

  /** Whatever shard a logical cluster is on, by way of the front-proxy; undefined when there is no such identity. */
  get external(): ObjectClient | undefined {
    const file = this.#options.externalLogicalClusterAdminKubeconfig;
    return file === undefined ? undefined : this.#client('external', this.#config(file));
  }

  /** The way of {@link external}, for paths that are no objects. */
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
      known = { url, transport: new RestTransport({ config, userAgent: 'multiplane-shard', silenceMs }) };
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

/** Who writes on other shards; the file for peers is an administrator's, so the identity made for it comes first. */
const adminFile = (options: ShardOptions): string | undefined =>
  options.logicalClusterAdminKubeconfig ?? options.shardKubeconfigFile;

/** What a shard takes from the kubeconfig of another one where that has it (C12.1). */
const shardContext = 'shard-base';

/** The same identity at another server. The result is the same object as long as the settings are. */
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

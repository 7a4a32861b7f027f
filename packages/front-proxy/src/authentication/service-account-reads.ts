import { isStatusError, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import type { ServiceAccountLookup } from '@multiplane/apiserver';
import type { RestTransport } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';

interface Known {
  readonly object: Promise<KubeObject | undefined>;
  readonly until: number;
}

export interface ServiceAccountReadsOptions {
  /** How long an answer is believed: so long a token may outlive what it stands for. */
  readonly ttlMs: number;
  readonly maxEntries: number;
}

export const defaultServiceAccountReadsOptions: ServiceAccountReadsOptions = { ttlMs: 10_000, maxEntries: 10_000 };

/**
 * ServiceAccounts and Secrets of any logical cluster, asked of the shard that has it (C7.3) and remembered for a short
 * while. What cannot be read is not remembered.
 */
export class ServiceAccountReads implements ServiceAccountLookup {
  readonly #options: ServiceAccountReadsOptions;
  readonly #clock: Clock;
  readonly #transportOf: (cluster: string) => RestTransport | undefined;
  readonly #known = new Map<string, Known>();

  constructor(
    options: ServiceAccountReadsOptions,
    modules: {
      readonly clock: Clock;
      /** To the shard of a logical cluster, with every right. */
      readonly transportOf: (cluster: string) => RestTransport | undefined;
    },
  ) {
    this.#options = options;
    this.#clock = modules.clock;
    this.#transportOf = modules.transportOf;
  }

  serviceAccount(cluster: LogicalClusterName, namespace: string, name: string): Promise<KubeObject | undefined> {
    return this.#get(cluster, namespace, 'serviceaccounts', name);
  }

  secret(cluster: LogicalClusterName, namespace: string, name: string): Promise<KubeObject | undefined> {
    return this.#get(cluster, namespace, 'secrets', name);
  }

  #get(cluster: string, namespace: string, resource: string, name: string): Promise<KubeObject | undefined> {
    const [inNamespace, called] = [encodeURIComponent(namespace), encodeURIComponent(name)];
    const path = `/clusters/${cluster}/api/v1/namespaces/${inNamespace}/${resource}/${called}`;
    const now = this.#clock.monotonic();
    const known = this.#known.get(path);
    if (known !== undefined && known.until > now) return known.object;
    const object = this.#read(cluster, path);
    object.catch(() => this.#known.delete(path));
    this.#known.delete(path);
    if (this.#known.size >= this.#options.maxEntries) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(path, { object, until: now + this.#options.ttlMs });
    return object;
  }

  async #read(cluster: string, path: string): Promise<KubeObject | undefined> {
    const transport = this.#transportOf(cluster);
    if (transport === undefined) return undefined;
    try {
      return (await transport.json({ method: 'GET', path })) as unknown as KubeObject;
    } catch (error) {
      if (isStatusError(error) && error.code === 404) return undefined;
      throw error;
    }
  }
}

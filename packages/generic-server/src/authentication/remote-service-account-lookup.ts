import {
  isStatusError,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { ObjectClient } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import type { ServiceAccountLookup } from './service-account-tokens.ts';

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
  readonly #clientOf: (cluster: LogicalClusterName) => Pick<ObjectClient, 'get'> | undefined;
  readonly #known = new Map<string, Known>();

  constructor(
    options: ServiceAccountReadsOptions,
    modules: {
      readonly clock: Clock;
      /** Reads where a logical cluster is; undefined when there is nobody to ask. */
      readonly clientOf: (cluster: LogicalClusterName) => Pick<ObjectClient, 'get'> | undefined;
    },
  ) {
    this.#options = options;
    this.#clock = modules.clock;
    this.#clientOf = modules.clientOf;
  }

  serviceAccount(cluster: LogicalClusterName, namespace: string, name: string): Promise<KubeObject | undefined> {
    return this.#get('serviceaccounts', cluster, namespace, name);
  }

  secret(cluster: LogicalClusterName, namespace: string, name: string): Promise<KubeObject | undefined> {
    return this.#get('secrets', cluster, namespace, name);
  }

  async #get(
    resource: 'serviceaccounts' | 'secrets',
    cluster: LogicalClusterName,
    namespace: string,
    name: string,
  ): Promise<KubeObject | undefined> {
    // None of these names can hold a slash.
    const key = `${resource}/${cluster}/${namespace}/${name}`;
    const now = this.#clock.monotonic();
    const known = this.#known.get(key);
    if (known !== undefined && known.until > now) return known.object;
    const client = this.#clientOf(cluster);
    if (client === undefined) return undefined;
    const object = read(client, { group: '', version: 'v1', resource }, { cluster, namespace, name });
    object.catch(() => this.#known.delete(key));
    this.#known.delete(key);
    if (this.#known.size >= this.#options.maxEntries) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(key, { object, until: now + this.#options.ttlMs });
    return object;
  }
}

async function read(
  client: Pick<ObjectClient, 'get'>,
  resource: GroupVersionResource,
  reference: { readonly cluster: LogicalClusterName; readonly namespace: string; readonly name: string },
): Promise<KubeObject | undefined> {
  try {
    return await client.get(resource, reference);
  } catch (error) {
    if (isStatusError(error) && error.code === 404) return undefined;
    throw error;
  }
}

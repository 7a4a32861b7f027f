import {
  isStatusError,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { ObjectClient } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { LRUCache } from 'lru-cache';
import { ReviewUnavailableError } from '../webhooks/review-unavailable-error.ts';
import type { ServiceAccountLookup } from './service-account-tokens.ts';

interface CachedObject {
  readonly object: Promise<KubeObject | undefined>;
  readonly expiresAt: number;
}

export interface ServiceAccountLookupOptions {
  /** How long objects are cached, and so how long a token may outlive its ServiceAccount or Secret. */
  readonly ttlMs: number;
  readonly maxEntries: number;
}

export const defaultServiceAccountLookupOptions: ServiceAccountLookupOptions = { ttlMs: 10_000, maxEntries: 10_000 };

/**
 * Reads ServiceAccounts and Secrets of any logical cluster from its shard and caches them for a short time. Missing objects are
 * cached; failed reads are not.
 */
export class RemoteServiceAccountLookup implements ServiceAccountLookup {
  readonly #options: ServiceAccountLookupOptions;
  readonly #clock: Clock;
  readonly #clientOf: (cluster: LogicalClusterName) => Pick<ObjectClient, 'get'> | undefined;
  readonly #cache: LRUCache<string, CachedObject>;

  constructor(
    options: ServiceAccountLookupOptions,
    modules: {
      readonly clock: Clock;
      /** A client for the shard of a logical cluster; undefined if the shard is unknown. */
      readonly clientOf: (cluster: LogicalClusterName) => Pick<ObjectClient, 'get'> | undefined;
    },
  ) {
    this.#options = options;
    this.#clock = modules.clock;
    this.#clientOf = modules.clientOf;
    this.#cache = new LRUCache({ max: options.maxEntries });
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
    // None of these names can contain a slash.
    const key = `${resource}/${cluster}/${namespace}/${name}`;
    const now = this.#clock.monotonic();
    const cached = this.#cache.get(key);
    if (cached !== undefined && cached.expiresAt > now) return cached.object;
    const client = this.#clientOf(cluster);
    if (client === undefined) return undefined;
    const object = read(client, { group: '', version: 'v1', resource }, { cluster, namespace, name });
    object.catch(() => this.#cache.delete(key));
    this.#cache.set(key, { object, expiresAt: now + this.#options.ttlMs });
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
    throw new ReviewUnavailableError(
      `failed to read ${resource.resource} of another shard: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

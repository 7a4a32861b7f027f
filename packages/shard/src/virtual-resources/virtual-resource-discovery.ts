import { apiVersionOf, isJsonObject, type GroupVersion, type JsonObject } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';

/** What may be done with a resource and its subresources at their endpoint. */
export interface VirtualVerbs {
  readonly resource: readonly string[];
  /** By name: `status`, `scale`. */
  readonly subresources: ReadonlyMap<string, readonly string[]>;
}

export interface VirtualResourceDiscoveryOptions {
  /** How long an answer is believed, in milliseconds. */
  readonly ttl: number;
}

export interface VirtualResourceDiscoveryModules {
  readonly clock: Clock;
  /** The JSON that an endpoint answers to a GET; fails where it answers none. */
  readonly get: (url: URL) => Promise<JsonObject>;
}

interface Remembered {
  readonly until: number;
  readonly document: Promise<JsonObject>;
}

const maxRemembered = 1_024;

/**
 * Which verbs a virtual resource has is for its endpoint to say (C9.4). The answer is asked for once by all who want it
 * and believed for a while, so that discovery of many workspaces is not one request each; a failure is not remembered.
 */
export class VirtualResourceDiscovery {
  readonly #options: VirtualResourceDiscoveryOptions;
  readonly #modules: VirtualResourceDiscoveryModules;
  readonly #remembered = new Map<string, Remembered>();
  constructor(options: VirtualResourceDiscoveryOptions, modules: VirtualResourceDiscoveryModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Undefined: the endpoint does not serve the resource. Rejects when it cannot be asked. */
  async verbs(endpoint: URL, version: GroupVersion, resource: string): Promise<VirtualVerbs | undefined> {
    const document = await this.#document(endpoint, version);
    const entries = Array.isArray(document['resources']) ? document['resources'].filter(isJsonObject) : [];
    const own = entries.find(({ name }) => name === resource);
    if (own === undefined) return undefined;
    const subresources = new Map<string, readonly string[]>();
    for (const entry of entries) {
      const { name } = entry;
      if (typeof name === 'string' && name.startsWith(`${resource}/`))
        subresources.set(name.slice(resource.length + 1), verbsOf(entry));
    }
    return { resource: verbsOf(own), subresources };
  }

  #document(endpoint: URL, version: GroupVersion): Promise<JsonObject> {
    const base = endpoint.href.replace(/\/+$/, '');
    const url = new URL(`${base}/clusters/*/apis/${apiVersionOf(version)}`);
    const now = this.#modules.clock.monotonic();
    const known = this.#remembered.get(url.href);
    if (known !== undefined && known.until > now) return known.document;
    const document = this.#modules.get(url);
    const entry = { until: now + this.#options.ttl, document };
    this.#remembered.delete(url.href);
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size < maxRemembered) break;
      this.#remembered.delete(oldest);
    }
    this.#remembered.set(url.href, entry);
    document.catch(() => {
      if (this.#remembered.get(url.href) === entry) this.#remembered.delete(url.href);
    });
    return document;
  }
}

function verbsOf({ verbs }: JsonObject): readonly string[] {
  return Array.isArray(verbs) ? verbs.filter((verb): verb is string => typeof verb === 'string') : [];
}

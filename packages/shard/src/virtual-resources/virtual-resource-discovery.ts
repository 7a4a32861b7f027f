import { apiVersionOf, isJsonObject, type GroupVersion, type JsonObject } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';

/** The verbs of a resource and of its subresources at their endpoint. */
export interface VirtualVerbs {
  readonly resource: readonly string[];
  /** By name: `status`, `scale`. */
  readonly subresources: ReadonlyMap<string, readonly string[]>;
}

export interface VirtualResourceDiscoveryOptions {
  /** TTL of a cached discovery document, in milliseconds. */
  readonly ttl: number;
}

export interface VirtualResourceDiscoveryModules {
  readonly clock: Clock;
  /** Sends a GET to an endpoint and returns the JSON body; rejects on any other response. */
  readonly get: (url: URL) => Promise<JsonObject>;
}

interface CachedDocument {
  readonly until: number;
  readonly document: Promise<JsonObject>;
}

const maxCachedDocuments = 1_024;

/**
 * The verbs of a virtual resource, as the discovery document of its endpoint lists them. Requests for the same document
 * share one upstream request, whose response is cached for a TTL, so that discovery of many workspaces is not one request
 * each; a failure is not cached.
 */
export class VirtualResourceDiscovery {
  readonly #options: VirtualResourceDiscoveryOptions;
  readonly #modules: VirtualResourceDiscoveryModules;
  readonly #documents = new Map<string, CachedDocument>();
  constructor(options: VirtualResourceDiscoveryOptions, modules: VirtualResourceDiscoveryModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Returns undefined if the endpoint does not serve the resource. Rejects when the endpoint is unavailable. */
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
    const cached = this.#documents.get(url.href);
    if (cached !== undefined && cached.until > now) return cached.document;
    const document = this.#modules.get(url);
    const entry = { until: now + this.#options.ttl, document };
    this.#documents.delete(url.href);
    for (const oldest of this.#documents.keys()) {
      if (this.#documents.size < maxCachedDocuments) break;
      this.#documents.delete(oldest);
    }
    this.#documents.set(url.href, entry);
    document.catch(() => {
      if (this.#documents.get(url.href) === entry) this.#documents.delete(url.href);
    });
    return document;
  }
}

function verbsOf({ verbs }: JsonObject): readonly string[] {
  return Array.isArray(verbs) ? verbs.filter((verb): verb is string => typeof verb === 'string') : [];
}

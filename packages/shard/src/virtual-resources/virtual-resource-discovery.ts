import {
  apiVersionOf,
  isJsonObject,
  type GroupVersion,
  type GroupVersionResource,
  type JsonObject,
} from '@multiplane/apimachinery';
import {
  isCachedResourceStorage,
  type ResourceDefinition,
  type Subresource,
  type Verb,
  type VirtualStorage,
} from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import type { EndpointUrls } from './endpoint-urls.ts';

/** Verbs by name: `''` for the resource itself, `status`, `scale`. */
export type VirtualVerbs = ReadonlyMap<string, readonly string[]>;

export interface VirtualResourceDiscoveryOptions {
  /** A document older than this is read again, in milliseconds. */
  readonly ttl: number;
  /** Minimum time between a failed read and the next one. */
  readonly retryInterval: number;
}

export interface VirtualResourceDiscoveryModules {
  readonly clock: Clock;
  /** Where a virtual resource is served. Throws if it is unknown. */
  readonly endpoints: (resource: GroupVersionResource, virtual: VirtualStorage) => EndpointUrls;
  /** GET of a JSON document below an endpoint; rejects with any response but 200. */
  readonly document: (endpoints: EndpointUrls, path: string, virtual: VirtualStorage) => Promise<JsonObject>;
}

/** The discovery of one resource as its endpoint gave it. */
interface Known {
  verbs: VirtualVerbs | undefined;
  /** The last read succeeded. */
  isCurrent: boolean;
  readAt: number;
  reading: Promise<void> | undefined;
}

export interface DiscoveredResource {
  /** With the verbs of its endpoint. */
  readonly definition: ResourceDefinition;
  /** Its endpoint gave these verbs within the TTL; otherwise they are the last known ones. */
  readonly isCurrent: boolean;
}

const maxKnown = 4_096;

/**
 * The verbs of virtual resources, as the discovery documents of their endpoints list them.
 *
 * ```
 *  never read ──► read, the request waits ──► current ──TTL──► read, the request waits
 *                        │ failed                                    │ failed
 *                        ▼                                           ▼
 *                   unavailable: the last verbs are used at once; read again in the background after the retry interval
 * ```
 *
 * One entry per APIExport and resource, whatever the number of consumers: requests share a read, so that discovery of many
 * workspaces costs one request. Until a first read succeeds, cached resources have the verbs of the replication virtual
 * workspace, which are always the same, and others none.
 */
export class VirtualResourceDiscovery {
  readonly #options: VirtualResourceDiscoveryOptions;
  readonly #modules: VirtualResourceDiscoveryModules;
  readonly #known = new Map<string, Known>();

  constructor(options: VirtualResourceDiscoveryOptions, modules: VirtualResourceDiscoveryModules) {
    this.#options = options;
    this.#modules = modules;
  }

  async discover(definition: ResourceDefinition, virtual: VirtualStorage): Promise<DiscoveredResource> {
    const known = this.#entryOf(definition, virtual);
    const { clock } = this.#modules;
    const { ttl, retryInterval } = this.#options;
    const age = clock.monotonic() - known.readAt;
    if (known.reading === undefined && age >= (known.isCurrent ? ttl : retryInterval)) {
      known.reading = this.#read(definition, virtual).then(
        (verbs) => this.#settle(known, verbs),
        () => this.#settle(known, undefined),
      );
    }
    // A server that did not answer last time must not delay discovery of everything else.
    if (known.isCurrent || known.readAt === Number.NEGATIVE_INFINITY) await known.reading;
    const { verbs, isCurrent } = known;
    if (verbs !== undefined) return { definition: withVerbs(definition, verbs), isCurrent };
    return { definition: isCachedResourceStorage(virtual) ? definition : withVerbs(definition, new Map()), isCurrent };
  }

  #settle(known: Known, verbs: VirtualVerbs | undefined): void {
    known.isCurrent = verbs !== undefined;
    known.verbs = verbs ?? known.verbs;
    known.readAt = this.#modules.clock.monotonic();
    known.reading = undefined;
  }

  /** Throws if the endpoint does not serve the resource. */
  async #read(definition: ResourceDefinition, virtual: VirtualStorage): Promise<VirtualVerbs> {
    const endpoints = this.#modules.endpoints(definition, virtual);
    const document = await this.#modules.document(endpoints, documentPath(definition), virtual);
    const entries = Array.isArray(document['resources']) ? document['resources'].filter(isJsonObject) : [];
    const verbs = new Map<string, readonly string[]>();
    for (const entry of entries) {
      const { name } = entry;
      if (name === definition.resource) verbs.set('', verbsOf(entry));
      else if (typeof name === 'string' && name.startsWith(`${definition.resource}/`))
        verbs.set(name.slice(definition.resource.length + 1), verbsOf(entry));
    }
    if (!verbs.has('')) throw new Error(`the endpoint does not serve ${definition.resource}`);
    return verbs;
  }

  #entryOf({ group, version, resource }: ResourceDefinition, virtual: VirtualStorage): Known {
    const { export: exported, exportIdentity, reference } = virtual;
    const key = JSON.stringify([exported.cluster, exported.name, exportIdentity, reference, group, version, resource]);
    let known = this.#known.get(key);
    if (known === undefined) {
      known = { verbs: undefined, isCurrent: false, readAt: Number.NEGATIVE_INFINITY, reading: undefined };
    } else {
      this.#known.delete(key);
    }
    // Least recently used first.
    this.#known.set(key, known);
    if (this.#known.size > maxKnown) this.#known.delete(this.#known.keys().next().value as string);
    return known;
  }
}

const documentPath = (version: GroupVersion): string =>
  `/clusters/*/${version.group === '' ? 'api' : 'apis'}/${apiVersionOf(version)}`;

function withVerbs(definition: ResourceDefinition, verbs: VirtualVerbs): ResourceDefinition {
  const of = (name: string): readonly Verb[] => (verbs.get(name) ?? []) as readonly Verb[];
  const subresources = Object.fromEntries<Subresource>(
    Object.entries(definition.subresources).map(([name, part]) => [name, { ...part, verbs: of(name) }]),
  );
  return { ...definition, verbs: of(''), subresources };
}

function verbsOf({ verbs }: JsonObject): readonly string[] {
  return Array.isArray(verbs) ? verbs.filter((verb): verb is string => typeof verb === 'string') : [];
}

import type { LogicalClusterName } from '@multiplane/apimachinery';
import { identitySegments } from '@multiplane/apiserver';
import { registryPrefix, type CacheEvent, type WatchCache } from '@multiplane/storage';
import { contentPrefixOf } from './content-prefix.ts';

/** Up to this number of objects under a prefix, the logical clusters that have them are tracked. */
const maxTrackedObjects = 64;

/** A key prefix of one kind; for kinds that are not built in, of one kind and identity. */
export interface ContentPrefix {
  readonly group: string;
  readonly resource: string;
  /** Ends before the name of the logical cluster. */
  readonly prefix: string;
  /** A superset of the logical clusters with objects under the prefix; undefined if there are too many. */
  clusters: Set<string> | undefined;
}

/** One pass of deleting the content of a logical cluster. */
export interface DeletionPass {
  /** Whether objects may have been created or updated in the logical cluster since the pass began. */
  readonly changed: boolean;
  end(): void;
}

interface ClusterState {
  activePasses: number;
  changed: boolean;
}

/**
 * Tracks which key prefixes may hold objects of a logical cluster, and whether a cluster changes while its content is
 * deleted. All concurrent passes share one subscription to the watch cache; without a pass there is none.
 *
 * ```
 *  begin               ──► subscribes; the prefixes are computed from the cache on first use
 *  write event         ──► marks its logical cluster as changed; an unknown prefix discards the computed prefixes
 *  subscription ends   ──► (cache reset) marks all passes as changed; the next pass subscribes again
 * ```
 *
 * The clusters of a prefix are a superset: deletions do not remove entries while a pass is active.
 */
export class ContentChangeTracker {
  readonly #cache: Pick<WatchCache, 'counts' | 'listCurrent' | 'revision' | 'subscribe'>;
  readonly #builtIn: ReadonlySet<string>;
  readonly #clusters = new Map<string, ClusterState>();
  #prefixes: Map<string, ContentPrefix> | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(
    options: {
      /** Prefixes of the keys of kinds that have no identity. */
      readonly builtIn: ReadonlySet<string>;
    },
    modules: { readonly cache: Pick<WatchCache, 'counts' | 'listCurrent' | 'revision' | 'subscribe'> },
  ) {
    this.#builtIn = options.builtIn;
    this.#cache = modules.cache;
  }

  begin(cluster: LogicalClusterName): DeletionPass {
    const state = this.#clusters.get(cluster) ?? { activePasses: 0, changed: false };
    this.#clusters.set(cluster, state);
    state.activePasses++;
    try {
      this.#unsubscribe ??= this.#subscribe();
    } catch (error) {
      this.#leave(cluster, state);
      throw error;
    }
    return {
      get changed() {
        return state.changed;
      },
      end: () => this.#leave(cluster, state),
    };
  }

  /** The prefixes that may hold objects of a logical cluster; call it during a pass. */
  *prefixesOf(cluster: LogicalClusterName): Generator<ContentPrefix> {
    // Without a subscription the prefixes cannot be kept up to date, so they are computed on each call.
    const prefixes = this.#unsubscribe === undefined ? this.#read() : (this.#prefixes ??= this.#read());
    for (const prefix of prefixes.values()) if (prefix.clusters?.has(cluster) !== false) yield prefix;
  }

  #leave(cluster: LogicalClusterName, state: ClusterState): void {
    if (--state.activePasses > 0) return;
    this.#clusters.delete(cluster);
    if (this.#clusters.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#prefixes = undefined;
  }

  #subscribe(): () => void {
    this.#prefixes = undefined;
    return this.#cache.subscribe({
      scope: registryPrefix,
      after: this.#cache.revision,
      onEvent: (event) => this.#onEvent(event),
      onEnd: () => {
        this.#unsubscribe = undefined;
        for (const state of this.#clusters.values()) state.changed = true;
      },
    });
  }

  #onEvent({ current, previous }: CacheEvent): void {
    if (current === undefined) return;
    const { key } = current;
    const prefix = contentPrefixOf(key, this.#builtIn);
    const cluster = key.slice(prefix.length, key.indexOf('/', prefix.length));
    const state = this.#clusters.get(cluster);
    if (state !== undefined) state.changed = true;
    if (previous !== undefined || this.#prefixes === undefined) return;
    const known = this.#prefixes.get(prefix);
    if (known === undefined) this.#prefixes = undefined;
    else if (known.clusters?.add(cluster).size === maxTrackedObjects * 2) known.clusters = undefined;
  }

  #read(): Map<string, ContentPrefix> {
    const found = new Map<string, ContentPrefix>();
    for (const [start, count] of this.#cache.counts()) {
      const [segment = '', resource = ''] = start.slice(registryPrefix.length).split('/');
      const group = segment === 'core' ? '' : segment;
      const prefixes = this.#builtIn.has(start)
        ? [start]
        : Array.from(identitySegments(this.#cache, start), (identity) => `${start}${identity}/`);
      for (const prefix of prefixes) {
        const clusters =
          count > maxTrackedObjects
            ? undefined
            : new Set(
                this.#cache
                  .listCurrent(prefix)
                  .map(({ key }) => key.slice(prefix.length, key.indexOf('/', prefix.length))),
              );
        found.set(prefix, { group, resource, prefix, clusters });
      }
    }
    return found;
  }
}

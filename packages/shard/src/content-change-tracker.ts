import type { LogicalClusterName } from '@multiplane/apimachinery';
import { identitySegments } from '@multiplane/apiserver';
import { registryPrefix, type CacheEvent, type WatchCache } from '@multiplane/storage';

/** Of what has so few objects it is known in which logical clusters those are. */
const fewObjects = 64;

/** Keys of one kind, and of one identity where it is not built in. */
export interface ContentPlace {
  readonly group: string;
  readonly resource: string;
  /** What comes before the logical cluster. */
  readonly prefix: string;
  /** Segments that say all logical clusters with objects here; absent: there may be too many to say. */
  clusters: Set<string> | undefined;
}

/** A logical cluster under watch. */
export interface ContentRound {
  /** Whether something may have been written into it since the beginning; what was removed does not count. */
  readonly changed: boolean;
  end(): void;
}

interface State {
  users: number;
  changed: boolean;
}

/**
 * Where logical clusters may have objects, and whether anything is written into one, for as long as somebody empties
 * them: one subscription to the whole cache for all that go at a time, none when nobody does.
 *
 * ```
 *  begin ──► subscribed from now on; places are read off the cache when first asked for
 *  a write ──► its logical cluster has changed; a place that was not known makes all of them be read anew
 *  the subscription ends (the cache starts over) ──► every round counts as changed, the next one subscribes again
 * ```
 *
 * Places only ever name too much: what is removed stays until nobody is under way any more.
 */
export class ContentWatch {
  readonly #cache: Pick<WatchCache, 'counts' | 'present' | 'revision' | 'subscribe'>;
  readonly #builtIn: ReadonlySet<string>;
  readonly #rounds = new Map<string, State>();
  #places: Map<string, ContentPlace> | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(
    options: {
      /** Prefixes of the keys of kinds that have no identity. */
      readonly builtIn: ReadonlySet<string>;
    },
    modules: { readonly cache: Pick<WatchCache, 'counts' | 'present' | 'revision' | 'subscribe'> },
  ) {
    this.#builtIn = options.builtIn;
    this.#cache = modules.cache;
  }

  begin(cluster: LogicalClusterName): ContentRound {
    const state = this.#rounds.get(cluster) ?? { users: 0, changed: false };
    this.#rounds.set(cluster, state);
    state.users++;
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

  /** Where a logical cluster may have objects, while it is under watch. */
  *placesOf(cluster: LogicalClusterName): Generator<ContentPlace> {
    // What nobody is told the changes of is read each time.
    const places = this.#unsubscribe === undefined ? this.#read() : (this.#places ??= this.#read());
    for (const place of places.values()) if (place.clusters?.has(cluster) !== false) yield place;
  }

  #leave(cluster: LogicalClusterName, state: State): void {
    if (--state.users > 0) return;
    this.#rounds.delete(cluster);
    if (this.#rounds.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#places = undefined;
  }

  #subscribe(): () => void {
    this.#places = undefined;
    return this.#cache.subscribe({
      scope: registryPrefix,
      after: this.#cache.revision,
      onEvent: (event) => this.#seen(event),
      onEnd: () => {
        this.#unsubscribe = undefined;
        for (const state of this.#rounds.values()) state.changed = true;
      },
    });
  }

  #seen({ current, previous }: CacheEvent): void {
    if (current === undefined) return;
    const { key } = current;
    const group = key.indexOf('/', registryPrefix.length);
    let prefix = key.slice(0, key.indexOf('/', group + 1) + 1);
    if (!this.#builtIn.has(prefix)) prefix = key.slice(0, key.indexOf('/', prefix.length) + 1);
    const cluster = key.slice(prefix.length, key.indexOf('/', prefix.length));
    const state = this.#rounds.get(cluster);
    if (state !== undefined) state.changed = true;
    if (previous !== undefined || this.#places === undefined) return;
    const place = this.#places.get(prefix);
    if (place === undefined) this.#places = undefined;
    else if (place.clusters?.add(cluster).size === fewObjects * 2) place.clusters = undefined;
  }

  #read(): Map<string, ContentPlace> {
    const places = new Map<string, ContentPlace>();
    for (const [start, count] of this.#cache.counts()) {
      const [segment = '', resource = ''] = start.slice(registryPrefix.length).split('/');
      const group = segment === 'core' ? '' : segment;
      const prefixes = this.#builtIn.has(start)
        ? [start]
        : Array.from(identitySegments(this.#cache, start), (identity) => `${start}${identity}/`);
      for (const prefix of prefixes) {
        const clusters =
          count > fewObjects
            ? undefined
            : new Set(
                this.#cache.present(prefix).map(({ key }) => key.slice(prefix.length, key.indexOf('/', prefix.length))),
              );
        places.set(prefix, { group, resource, prefix, clusters });
      }
    }
    return places;
  }
}

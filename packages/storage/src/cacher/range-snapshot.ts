import { compareKeys } from '../key-order.ts';
import type { CacheEntry, CacheSnapshot } from '../watch-cache-interface.ts';
import type { OrderedView } from '../ordered-tree.ts';
import { scopeEnd } from './scope.ts';

/** One scope of a frozen state of the cache. */
export class RangeSnapshot implements CacheSnapshot {
  readonly revision: number;
  readonly isNarrowed: boolean;
  readonly #scope: string;
  readonly #end: string | undefined;
  readonly #view: OrderedView<CacheEntry>;
  #endRank: number | undefined;

  constructor(scope: string, revision: number, view: OrderedView<CacheEntry>, isNarrowed = false) {
    this.revision = revision;
    this.isNarrowed = isNarrowed;
    this.#scope = scope;
    this.#end = scopeEnd(scope);
    this.#view = view;
  }

  entries(from: string | undefined, limit: number): readonly CacheEntry[] {
    return this.#view.scan(this.#start(from), this.#end, limit);
  }

  countFrom(from: string): number {
    this.#endRank ??= this.#end === undefined ? this.#view.size : this.#view.rank(this.#end);
    return Math.max(0, this.#endRank - this.#view.rank(this.#start(from)));
  }

  #start(from: string | undefined): string {
    return from !== undefined && compareKeys(from, this.#scope) > 0 ? from : this.#scope;
  }
}

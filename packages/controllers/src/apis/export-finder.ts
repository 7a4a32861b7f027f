import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import type { APIExport } from '@multiplane/apis';
import { AmbiguousPathError, type ObjectReference, type PathAndNameLookup } from '@multiplane/client';
import { keyOf } from '../runtime/object-key.ts';
import { exportPath, type ExportReference } from './export-reference.ts';

/**
 * Finds the APIExport of a reference, and distinguishes an export that does not exist from one that is not known yet.
 * Until the exports of all shards are synced, an object whose export is not found must not be reported as broken; its key
 * is requeued when they are.
 */
export class ExportFinder {
  readonly #exports: PathAndNameLookup<APIExport>;
  readonly #awaitingSync = new Set<string>();
  #hasSynced = false;

  constructor(modules: { readonly exports: PathAndNameLookup<APIExport>; readonly requeue: (key: string) => void }) {
    this.#exports = modules.exports;
    modules.exports.synced.then(
      () => {
        this.#hasSynced = true;
        for (const key of this.#awaitingSync) modules.requeue(key);
        this.#awaitingSync.clear();
      },
      // The owner of the lookup reports the failure.
      () => undefined,
    );
  }

  /** Throws AmbiguousPathError. */
  find(reference: ExportReference, from: ObjectReference): DeepReadonly<APIExport> | 'absent' | 'not-synced' {
    const found = this.#exports.byPathAndName(exportPath(reference, from.cluster), reference.name ?? '');
    this.#awaitingSync.delete(keyOf(from));
    if (found !== undefined) return found;
    if (this.#hasSynced) return 'absent';
    this.#awaitingSync.add(keyOf(from));
    return 'not-synced';
  }

  /** The export of a reference; undefined if there is none or the path is ambiguous. Never requeues. */
  lookup(reference: ExportReference, from: LogicalClusterName): DeepReadonly<APIExport> | undefined {
    try {
      return this.#exports.byPathAndName(exportPath(reference, from), reference.name ?? '');
    } catch (error) {
      if (error instanceof AmbiguousPathError) return undefined;
      throw error;
    }
  }

  /** Whether {@link find} returned `not-synced` for this key last. */
  isAwaitingSync(key: string): boolean {
    return this.#awaitingSync.has(key);
  }
}

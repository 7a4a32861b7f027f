import {
  clusterAnnotation,
  pathAnnotation,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { APIBinding, APIExport, APIExportEndpointSlice } from '@multiplane/apis';
import { AmbiguousPathError, type Informer, type ObjectReference, type PathAndNameLookup } from '@multiplane/client';
import { keyOf } from '../runtime/object-key.ts';

/** How an object says which export it means: a path, or nothing for its own logical cluster, and a name. */
interface ExportReference {
  readonly path?: string;
  readonly name?: string;
}
export const exportOfBinding = ({ spec }: DeepReadonly<APIBinding>): ExportReference => spec?.reference?.export ?? {};
export const exportOfSlice = ({ spec }: DeepReadonly<APIExportEndpointSlice>): ExportReference => spec?.export ?? {};

/** Where to look for it: the path as written, or the logical cluster of who refers to it. */
export const pathOf = ({ path = '' }: ExportReference, cluster: LogicalClusterName): string =>
  path === '' ? cluster : path;
/** `<path>|<name>`, as messages tell it (C5.11). */
const wordsOf = (reference: ExportReference, cluster: LogicalClusterName): string =>
  `${pathOf(reference, cluster)}|${reference.name ?? ''}`;

/**
 * Somebody may have made a workspace of the same path since. What its consumers accepted, and their objects, are for whom
 * they bound: the logical cluster it was in, or whoever has its identity. The reference hands them over.
 */
export function isAnotherOne(found: DeepReadonly<APIExport>, { status }: DeepReadonly<APIBinding>): boolean {
  const before = status?.apiExportClusterName ?? '';
  if (before === '' || before === (found.metadata.annotations?.[clusterAnnotation] ?? '')) return false;
  const identity = status?.boundResources?.[0]?.schema.identityHash ?? '';
  return identity === '' || identity !== found.status?.identityHash;
}

/**
 * Finds the export that is meant, and tells an export that is not there from one that is not known yet: before the
 * exports of all shards have been heard of, what refers to one must not look as if it were gone. Who asked too early
 * comes back by then.
 */
export class ExportFinder {
  readonly #exports: PathAndNameLookup<APIExport>;
  readonly #early = new Set<string>();
  #known = false;

  constructor(modules: {
    readonly exports: PathAndNameLookup<APIExport>;
    /** Brings a key back. */
    readonly again: (key: string) => void;
  }) {
    this.#exports = modules.exports;
    modules.exports.synced.then(
      () => {
        this.#known = true;
        for (const key of this.#early) modules.again(key);
        this.#early.clear();
      },
      // Whoever owns the lookup reports why; until it is over an export that is not found may yet come.
      () => undefined,
    );
  }

  /** Throws AmbiguousPathError. */
  find(reference: ExportReference, from: ObjectReference): DeepReadonly<APIExport> | 'absent' | 'unknown' {
    const found = this.#exports.byPathAndName(pathOf(reference, from.cluster), reference.name ?? '');
    this.#early.delete(keyOf(from));
    if (found !== undefined) return found;
    if (this.#known) return 'absent';
    this.#early.add(keyOf(from));
    return 'unknown';
  }

  /** The same for who comes again when there is none, or more than one. */
  known(reference: ExportReference, from: LogicalClusterName): DeepReadonly<APIExport> | undefined {
    try {
      return this.#exports.byPathAndName(pathOf(reference, from), reference.name ?? '');
    } catch (error) {
      if (error instanceof AmbiguousPathError) return undefined;
      throw error;
    }
  }

  /** It found nothing, and has not come back since: an export that was there may be what it waits for. */
  askedEarly(key: string): boolean {
    return this.#early.has(key);
  }
}

/**
 * Which objects refer to an export, by the words they use for it. Holds keys only; an export that appears finds those
 * that were there before it. That nobody refers to an export is known when it is complete.
 */
export class ExportReferrers<T extends KubeObject> {
  readonly #exportOf: (object: DeepReadonly<T>) => ExportReference;
  readonly #keys = new Map<string, Set<string>>();
  readonly #completed = Promise.withResolvers<void>();
  /** Resolves when all is known that was there at the beginning. */
  readonly completed: Promise<void> = this.#completed.promise;
  #isComplete = false;

  constructor(
    options: { readonly exportOf: (object: DeepReadonly<T>) => ExportReference },
    modules: { readonly informer: Informer<T> },
  ) {
    this.#exportOf = options.exportOf;
    modules.informer.addHandlers({
      added: (object, reference) => this.#set(object, reference),
      updated: (object, old, reference) => {
        const { cluster } = reference;
        if (wordsOf(this.#exportOf(object), cluster) === wordsOf(this.#exportOf(old), cluster)) return;
        this.#delete(old, reference);
        this.#set(object, reference);
      },
      deleted: (old, reference) => this.#delete(old, reference),
      synced: () => {
        this.#isComplete = true;
        this.#completed.resolve();
      },
    });
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Keys of those who refer to an export, as {@link keyOf} makes them. */
  of(object: DeepReadonly<APIExport>, { cluster, name }: ObjectReference): ReadonlySet<string> {
    const path = object.metadata.annotations?.[pathAnnotation] ?? '';
    const byCluster = this.#keys.get(`${cluster}|${name}`);
    const byPath = path === '' || path === cluster ? undefined : this.#keys.get(`${path}|${name}`);
    if (byCluster === undefined || byPath === undefined) return byCluster ?? byPath ?? none;
    return new Set([...byCluster, ...byPath]);
  }

  #set(object: DeepReadonly<T>, reference: ObjectReference): void {
    const words = wordsOf(this.#exportOf(object), reference.cluster);
    const keys = this.#keys.get(words);
    if (keys === undefined) this.#keys.set(words, new Set([keyOf(reference)]));
    else keys.add(keyOf(reference));
  }

  #delete(object: DeepReadonly<T>, reference: ObjectReference): void {
    const words = wordsOf(this.#exportOf(object), reference.cluster);
    const keys = this.#keys.get(words);
    if (keys?.delete(keyOf(reference)) === true && keys.size === 0) this.#keys.delete(words);
  }
}

const none: ReadonlySet<string> = new Set();

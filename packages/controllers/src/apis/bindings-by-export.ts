import { pathAnnotation, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import type { APIBinding, APIExport } from '@multiplane/apis';
import type { Informer, ObjectReference } from '@multiplane/client';
import { keyOf } from '../runtime/object-key.ts';

/** Where a binding looks for its export: the path as written, its own logical cluster without one. */
export function exportPathOf(binding: DeepReadonly<APIBinding>, cluster: LogicalClusterName): string {
  const { path = '' } = binding.spec?.reference?.export ?? {};
  return path === '' ? cluster : path;
}

/**
 * Which bindings of the shard refer to an export, by the words they use for it: the path of its logical cluster or its
 * name. Holds keys only; an export that appears finds those that were there before it.
 */
export class BindingsByExport {
  readonly #keys = new Map<string, Set<string>>();

  constructor(modules: { readonly bindings: Informer<APIBinding> }) {
    modules.bindings.addHandlers({
      added: (binding, reference) => this.#set(binding, reference),
      updated: (binding, old, reference) => {
        if (wordsOf(binding, reference) === wordsOf(old, reference)) return;
        this.#delete(old, reference);
        this.#set(binding, reference);
      },
      deleted: (old, reference) => this.#delete(old, reference),
    });
  }

  /** Keys of the bindings, as {@link keyOf} makes them. */
  of(object: DeepReadonly<APIExport>, { cluster, name }: ObjectReference): ReadonlySet<string> {
    const path = object.metadata.annotations?.[pathAnnotation] ?? '';
    const byCluster = this.#keys.get(`${cluster}|${name}`);
    const byPath = path === '' || path === cluster ? undefined : this.#keys.get(`${path}|${name}`);
    if (byCluster === undefined || byPath === undefined) return byCluster ?? byPath ?? none;
    return new Set([...byCluster, ...byPath]);
  }

  #set(binding: DeepReadonly<APIBinding>, reference: ObjectReference): void {
    const words = wordsOf(binding, reference);
    const keys = this.#keys.get(words);
    if (keys === undefined) this.#keys.set(words, new Set([keyOf(reference)]));
    else keys.add(keyOf(reference));
  }

  #delete(binding: DeepReadonly<APIBinding>, reference: ObjectReference): void {
    const words = wordsOf(binding, reference);
    const keys = this.#keys.get(words);
    if (keys?.delete(keyOf(reference)) === true && keys.size === 0) this.#keys.delete(words);
  }
}

const none: ReadonlySet<string> = new Set();

const wordsOf = (binding: DeepReadonly<APIBinding>, { cluster }: ObjectReference): string =>
  `${exportPathOf(binding, cluster)}|${binding.spec?.reference?.export?.name ?? ''}`;

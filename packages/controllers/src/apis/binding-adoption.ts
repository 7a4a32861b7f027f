import type { DeepReadonly } from '@multiplane/apimachinery';
import { apiBindings, lockName, type APIBinding, type APIExport, type BoundResource } from '@multiplane/apis';
import {
  AmbiguousPathError,
  type InformerSource,
  type Lister,
  type ObjectReference,
  type PathAndNameLookup,
} from '@multiplane/client';
import { ExportFinder } from './export-finder.ts';
import { bindingExportReference } from './export-reference.ts';
import { OfferedResources } from './offered-resources.ts';

export interface BindingAdoptionModules {
  readonly informers: InformerSource;
  readonly globalInformers: InformerSource;
  readonly exports: PathAndNameLookup<APIExport>;
}

/**
 * Finds the resources of a deleted APIBinding that another binding of its logical cluster takes over with their objects (kcp:
 * pkg/reconciler/apis/apibindingdeletion/apibinding_adoption.go): its export has the same identity and offers the resource through
 * the same APIResourceSchema, by uid, so the objects stay where they are stored and keep their form.
 */
export class BindingAdoption {
  readonly #bindings: Lister<APIBinding>;
  readonly #finder: ExportFinder;
  readonly #offered: OfferedResources;

  /** `requeue` is called with the key of a binding whose result was `not-synced` when all exports are known. */
  constructor(modules: BindingAdoptionModules & { readonly requeue: (key: string) => void }) {
    this.#bindings = modules.informers.informer<APIBinding>(apiBindings);
    this.#finder = new ExportFinder(modules);
    this.#offered = new OfferedResources(modules);
  }

  /**
   * The {@link lockName} of each adopted resource; `not-synced` while the export of a possible successor may not be known yet, so
   * that objects which it takes over are not deleted.
   */
  adoptedBy(
    binding: DeepReadonly<APIBinding>,
    reference: ObjectReference,
    resources: readonly DeepReadonly<BoundResource>[],
  ): ReadonlySet<string> | 'not-synced' {
    const adopted = new Set<string>();
    if (resources.length === 0) return adopted;
    for (const other of this.#bindings.list({ cluster: reference.cluster })) {
      const { name, deletionTimestamp } = other.metadata;
      if (name === binding.metadata.name || deletionTimestamp !== undefined) continue;
      const found = this.#exportOf(other, reference);
      if (found === 'not-synced') return found;
      if (found === undefined) continue;
      const offers = this.#offersOf(found);
      for (const { group, resource, schema } of resources) {
        const key = lockName({ group, resource });
        if (found.status?.identityHash === schema.identityHash && offers.get(key) === schema.UID) adopted.add(key);
      }
    }
    return adopted;
  }

  /** The export is looked up for the deleted binding, which waits for it. */
  #exportOf(
    other: DeepReadonly<APIBinding>,
    from: ObjectReference,
  ): DeepReadonly<APIExport> | 'not-synced' | undefined {
    try {
      const found = this.#finder.find(bindingExportReference(other), from);
      return found === 'absent' ? undefined : found;
    } catch (error) {
      // Which export the binding means cannot be said, so it is no successor.
      if (error instanceof AmbiguousPathError) return undefined;
      throw error;
    }
  }

  /** Uids of the schemas of an export's stored resources, by {@link lockName}. */
  #offersOf(apiExport: DeepReadonly<APIExport>): ReadonlyMap<string, string> {
    const resources = this.#offered.resolve(apiExport);
    if ('missingSchema' in resources) return new Map();
    return new Map(
      resources
        .filter(({ exported }) => exported.storage?.virtual === undefined)
        .map(({ exported, schema }) => [
          lockName({ group: exported.group ?? '', resource: exported.name }),
          schema.metadata.uid ?? '',
        ]),
    );
  }
}

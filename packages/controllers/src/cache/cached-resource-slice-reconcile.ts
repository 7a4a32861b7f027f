import {
  errorText,
  labelSelectorFromObject,
  statusErrors,
  type DeepReadonly,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import {
  apiResourceSchemas,
  cachedResourceEndpointSlices,
  resourceOfSlice,
  virtualStorageProblem,
  type APIExport,
  type APIResourceSchema,
  type CachedResource,
  type CachedResourceEndpointSlice,
} from '@multiplane/apis';
import type { InformerSource, Lister, ObjectReference, PathAndNameLookup } from '@multiplane/client';
import type { ControllerModules } from '../runtime/controller.ts';
import { setKcpCondition, type NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/object-writes.ts';
import { partitions, type Partition } from '../topology/kinds.ts';
import { SliceExports } from './slice-exports.ts';

type Status = NonNullable<CachedResourceEndpointSlice['status']>;

export interface CachedResourceSliceModules extends ControllerModules {
  /** The replicated objects of all shards, the shard's own first. */
  readonly globalInformers: InformerSource;
  /** CachedResources of all shards. */
  readonly cachedResources: PathAndNameLookup<CachedResource>;
}

/**
 * One pass over one CachedResourceEndpointSlice: the conditions in the order ResourceValid, APIExportValid, PartitionValid.
 * The first one that fails ends the pass and removes the endpoints, except for an ambiguous path.
 */
export class CachedResourceSliceReconciler {
  readonly #modules: CachedResourceSliceModules;
  readonly #slices: Lister<CachedResourceEndpointSlice>;
  readonly #partitions: Lister<Partition>;
  readonly #schemas: Lister<APIResourceSchema>;
  readonly #sliceExports: SliceExports;

  constructor(modules: CachedResourceSliceModules) {
    const { informers, globalInformers } = modules;
    this.#modules = modules;
    this.#slices = informers.informer<CachedResourceEndpointSlice>(cachedResourceEndpointSlices);
    this.#partitions = informers.informer<Partition>(partitions);
    this.#schemas = globalInformers.informer<APIResourceSchema>(apiResourceSchemas);
    this.#sliceExports = new SliceExports({ globalInformers });
  }

  async reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const slice = this.#slices.get(reference);
    if (slice === undefined || slice.metadata.deletionTimestamp !== undefined) return;
    const status = this.#evaluate(slice, reference);
    await updateStatus(
      this.#modules.client,
      cachedResourceEndpointSlices,
      reference.cluster,
      slice,
      status as unknown as JsonObject,
    );
  }

  #evaluate(slice: DeepReadonly<CachedResourceEndpointSlice>, reference: ObjectReference): Status {
    const now = new Date(this.#modules.clock.now());
    const { endpoints, shardSelector: _selector, ...rest } = slice.status ?? {};
    let { conditions } = rest;
    const set = (condition: NewKcpCondition): void => void (conditions = setKcpCondition(conditions, condition, now));
    const failed = (condition: NewKcpCondition, keepsEndpoints = false): Status => {
      set(condition);
      return { ...rest, conditions, ...(keepsEndpoints && endpoints !== undefined ? { endpoints } : {}) } as Status;
    };
    const resource = this.#resourceCondition(slice, reference);
    if ('condition' in resource) return failed(resource.condition, resource.condition.reason === 'InternalError');
    set({ type: 'ResourceValid', status: 'True' });
    const problem = this.#exportProblem(slice, reference, resource.found);
    if (problem !== undefined) return failed(problem);
    set({ type: 'APIExportValid', status: 'True' });
    let shardSelector: string;
    try {
      shardSelector = this.#selectorOf(slice, reference);
    } catch (error) {
      return failed({ ...invalid('PartitionValid'), reason: 'PartitionInvalidReference', message: errorText(error) });
    }
    set({ type: 'PartitionValid', status: 'True' });
    return {
      ...rest,
      conditions,
      ...(endpoints === undefined ? {} : { endpoints }),
      ...(shardSelector === '' ? {} : { shardSelector }),
    } as Status;
  }

  #resourceCondition(
    { spec }: DeepReadonly<CachedResourceEndpointSlice>,
    { cluster }: ObjectReference,
  ): { readonly found: DeepReadonly<CachedResource> } | { readonly condition: NewKcpCondition } {
    const { path = '', name = '' } = spec?.cachedResource ?? {};
    const where = path === '' ? cluster : path;
    const message = `Error getting CachedResource ${where}|${name}`;
    try {
      const found = this.#modules.cachedResources.byPathAndName(where, name);
      if (found !== undefined) return { found };
      return { condition: { ...invalid('ResourceValid'), reason: 'CachedResourceNotFound', message } };
    } catch {
      // The path is ambiguous: several workspaces have it.
      return { condition: { ...invalid('ResourceValid'), reason: 'InternalError', message } };
    }
  }

  #exportProblem(
    slice: DeepReadonly<CachedResourceEndpointSlice>,
    reference: ObjectReference,
    cached: DeepReadonly<CachedResource>,
  ): NewKcpCondition | undefined {
    const { cluster } = reference;
    const found = this.#sliceExports.of(slice, reference);
    const invalidReference = { ...invalid('APIExportValid'), reason: 'APIExportInvalidReference' };
    if (found.length === 0) {
      const wanted = slice.spec?.export;
      if (wanted === undefined)
        return {
          ...invalidReference,
          message: 'no APIExport of this workspace references this CachedResourceEndpointSlice',
        };
      const subject = `APIExport ${(wanted.path ?? '') === '' ? cluster : wanted.path}|${wanted.name}`;
      const exists = this.#sliceExports.exports
        .list({ cluster })
        .some((one) => this.#sliceExports.isMeant(slice, one, cluster));
      const reason = exists ? 'does not reference this CachedResourceEndpointSlice' : 'not found';
      return { ...invalidReference, message: `${subject} ${reason}` };
    }
    // One valid export suffices for the slice; invalid ones report it in their condition VirtualStorageValid.
    let problem: { readonly reason: string; readonly message: string } | undefined;
    for (const object of found) {
      problem = this.#problemOf(object, reference, cached);
      if (problem === undefined) return undefined;
    }
    return problem === undefined ? undefined : { ...invalid('APIExportValid'), ...problem };
  }

  #problemOf(
    object: DeepReadonly<APIExport>,
    { cluster, name }: ObjectReference,
    cached: DeepReadonly<CachedResource>,
  ): { readonly reason: string; readonly message: string } | undefined {
    const exported = resourceOfSlice(object, name);
    if (exported === undefined) return undefined;
    return virtualStorageProblem(
      exported,
      this.#schemas.get({ cluster, namespace: '', name: exported.schema }),
      cached,
    );
  }

  #selectorOf({ spec }: DeepReadonly<CachedResourceEndpointSlice>, { cluster }: ObjectReference): string {
    const name = spec?.partition ?? '';
    if (name === '') return '';
    const partition = this.#partitions.get({ cluster, namespace: '', name });
    // As in kcp, the message has the singular resource.
    if (partition === undefined) throw statusErrors.notFound({ group: partitions.group, resource: 'partition' }, name);
    return labelSelectorFromObject((partition.spec?.selector ?? {}) as Json).toString();
  }
}

const invalid = (type: string): { type: string; status: 'False'; severity: 'Error' } => ({
  type,
  status: 'False',
  severity: 'Error',
});

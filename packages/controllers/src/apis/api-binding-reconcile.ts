import { timeSlices } from '@multiplane/component-base';
import {
  deepEqual,
  errorText,
  isConditionTrue,
  isStatusError,
  type DeepReadonly,
  type Json,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  boundDefinitionsCluster,
  lockName,
  type APIBinding,
  type APIExport,
  type APIResourceSchema,
  type BoundResource,
  type ResourceLock,
} from '@multiplane/apis';
import type { InformerSource, Lister, MetadataInformer, ObjectReference, PathAndNameLookup } from '@multiplane/client';
import { crds, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import type { ControllerModules } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import type { APIBindingStatusBuilder } from './api-binding-status.ts';
import { BindingNames } from './binding-names.ts';
import { BoundCRDCreator, type BoundCRDCreatorModules } from './bound-crd-creator.ts';
import { boundResources, computeBoundStatus, type OfferedResource } from './bound-status.ts';
import { DeletionWaitIndex } from './deletion-wait-index.ts';
import { ExportFinder } from './export-finder.ts';
import { bindingExportReference, exportKey, isDifferentExport } from './export-reference.ts';
import { namingConflict, noNameOwners, type NameOwners } from './naming-conflict.ts';
import { OfferedResources } from './offered-resources.ts';
import { ResourceLockWriter } from './resource-lock-writer.ts';
import { WaitIndex } from './wait-index.ts';

const boundCluster = boundDefinitionsCluster as LogicalClusterName;

export interface APIBindingReconcilerModules extends ControllerModules, BoundCRDCreatorModules {
  /** Exports, schemas and conversions of all shards. */
  readonly globalInformers: InformerSource;
  /** Exports of all shards. */
  readonly exports: PathAndNameLookup<APIExport>;
}

/** `conflict`: a naming conflict, for which kcp leaves Ready unchanged. `waiting`: definitions are not established yet. */
export type BindResult = 'done' | 'conflict' | 'waiting';

/**
 * One pass over one APIBinding (kcp: pkg/reconciler/apis/apibinding/apibinding_reconcile.go): finds the export, locks the
 * names of its resources, checks naming conflicts, creates missing definitions, and builds the status.
 */
export class APIBindingReconciler {
  readonly #definitions: Lister<CustomResourceDefinition>;
  readonly #metadata: MetadataInformer;
  readonly #locks: ResourceLockWriter;
  readonly #names: BindingNames;
  readonly #creator: BoundCRDCreator;
  readonly #finder: ExportFinder;
  readonly #offered: OfferedResources;
  /** Bindings that hold a resource only because it still has objects. */
  readonly #dropped: DeletionWaitIndex;
  /** Bindings by the uids of the schemas whose definitions are not established yet. */
  readonly #pending = new WaitIndex();

  /** `requeue` is called with the key of a binding when something it waits for has happened. */
  constructor(modules: APIBindingReconcilerModules & { readonly requeue: (key: string) => void }) {
    const { informers, requeue } = modules;
    this.#definitions = informers.informer<CustomResourceDefinition>(crds);
    this.#metadata = informers.metadata;
    this.#locks = new ResourceLockWriter(modules);
    this.#names = new BindingNames(modules);
    this.#creator = new BoundCRDCreator(modules);
    this.#finder = new ExportFinder({ exports: modules.exports, requeue });
    this.#offered = new OfferedResources(modules);
    this.#dropped = new DeletionWaitIndex({ metadata: informers.metadata, requeue });
  }

  /** Forgets a deleted binding. */
  forget(key: string): void {
    this.#dropped.forget(key);
    this.#pending.forget(key);
  }

  /** Keys of bindings that wait for a definition in `system:bound-crds`. */
  waitingFor(definition: string): Iterable<string> {
    return this.#pending.of(definition);
  }

  /** Whether a binding did not find its export before all exports were known. */
  isAwaitingExports(key: string): boolean {
    return this.#finder.isAwaitingSync(key);
  }

  /**
   * Whether a binding that was created with its status needs no pass: the status is what {@link computeBoundStatus} gives
   * for the current export. Its names were locked before it was created.
   */
  isFullyBound(binding: DeepReadonly<APIBinding>, { cluster }: ObjectReference): boolean {
    const { spec, status } = binding;
    if (status?.phase !== 'Bound' || (spec?.permissionClaims ?? []).length > 0) return false;
    const apiExport = this.#finder.lookup(bindingExportReference(binding), cluster);
    const resources = apiExport === undefined ? undefined : this.#offered.cached(apiExport);
    if (apiExport === undefined || resources?.length !== (status.boundResources ?? []).length) return false;
    const storedVersions = this.#storedVersions;
    const { bound } = boundResources({ apiExport, resources, storedVersions, current: status });
    return deepEqual(bound as unknown as Json, status.boundResources ?? []);
  }

  /** Throws when a write fails; `status` then holds the failure, if kcp reports it in a condition. */
  async bind(
    binding: DeepReadonly<APIBinding>,
    reference: ObjectReference,
    status: APIBindingStatusBuilder,
  ): Promise<BindResult> {
    this.#pending.forget(keyOf(reference));
    const apiExport = this.#exportOf(binding, reference, status);
    if (apiExport === undefined) return 'done';
    status.setExportClaims(apiExport);
    if ((apiExport.status?.identityHash ?? '') === '') {
      const message = `APIExport ${exportKey(bindingExportReference(binding), reference.cluster)} is missing status.identityHash`;
      status.markExportInvalid({ reason: 'MissingIdentityHash', severity: 'Warning', message });
      return 'done';
    }
    status.setExportCluster(apiExport);
    const resources = this.#offered.resolve(apiExport);
    if ('missingSchema' in resources) {
      const message = `Invalid APIExport. Please contact the APIExport owner to resolve: APIResourceSchema ${JSON.stringify(resources.missingSchema)} not found`;
      status.markExportInvalid({ reason: 'InternalError', message });
      return 'done';
    }
    const wanted = new Set([...resources.map(lockOf), ...this.#droppedInUse(resources, reference, status)]);
    const heldByOthers = await this.#lock(reference, wanted, status);
    status.retainResources((resource) => wanted.has(lockName(resource)));
    const free = this.#withoutConflicts(resources, heldByOthers, binding, reference, status);
    if (!Array.isArray(free)) return free;
    return this.#bindResources({ apiExport, resources: free, heldByOthers, binding, reference, status });
  }

  /** The resources whose locks the binding holds; a result when one of them cannot be bound and the status says why. */
  #withoutConflicts(
    resources: readonly OfferedResource[],
    heldByOthers: ReadonlyMap<string, ResourceLock>,
    binding: DeepReadonly<APIBinding>,
    reference: ObjectReference,
    status: APIBindingStatusBuilder,
  ): OfferedResource[] | BindResult {
    let owners: NameOwners | undefined;
    const free: OfferedResource[] = [];
    for (const offer of resources) {
      const { schema } = offer;
      const holder = heldByOthers.get(lockOf(offer));
      // For a CRD of the logical cluster the naming conflict below gives a better message than the lock.
      if (holder !== undefined && holder.c !== true) continue;
      // A bound resource keeps its names when its schema changes; only new names are checked.
      const isNew = holder !== undefined || !this.#names.areBound(binding, schema);
      if (isNew) owners ??= this.#names.ownersBeside(reference, resources);
      const conflict = isNew ? namingConflict(schema, owners ?? noNameOwners) : undefined;
      if (conflict !== undefined) {
        status.markIncomplete({ reason: 'NamingConflicts', message: `Unable to bind APIs: ${conflict}` });
        return 'conflict';
      }
      if (holder !== undefined) continue;
      if ((schema.spec?.versions.length ?? 0) > 1 && schema.spec?.conversion === undefined) {
        const message = 'Invalid APIExport. Please contact the APIExport owner to resolve';
        status.markExportInvalid({ reason: 'InternalError', message });
        return 'done';
      }
      free.push(offer);
    }
    return free;
  }

  async #bindResources({
    apiExport,
    resources,
    heldByOthers,
    binding,
    reference,
    status,
  }: {
    readonly apiExport: DeepReadonly<APIExport>;
    readonly resources: readonly OfferedResource[];
    readonly heldByOthers: ReadonlyMap<string, ResourceLock>;
    readonly binding: DeepReadonly<APIBinding>;
    readonly reference: ObjectReference;
    readonly status: APIBindingStatusBuilder;
  }): Promise<BindResult> {
    const areCreated = await this.#createDefinitions(resources, status);
    const storedVersions = this.#storedVersions;
    if (!areCreated) {
      status.putResources(boundResources({ apiExport, resources, storedVersions, current: binding.status }).bound);
      return 'done';
    }
    const next = computeBoundStatus({
      apiExport,
      resources,
      storedVersions,
      current: status.value,
      acceptedClaims: binding.spec?.permissionClaims,
      heldByOthers,
      now: status.now,
    });
    status.assign(next.status);
    if (next.pending.length === 0) return 'done';
    // No await since the definitions were read: every later event finds the key in the index.
    this.#pending.set(
      keyOf(reference),
      next.pending.map(({ schema }) => uidOf(schema)),
    );
    return 'waiting';
  }

  /** Undefined if the export cannot be used; the status says why, unless exports are not synced yet. */
  #exportOf(
    binding: DeepReadonly<APIBinding>,
    reference: ObjectReference,
    status: APIBindingStatusBuilder,
  ): DeepReadonly<APIExport> | undefined {
    if ((bindingExportReference(binding).name ?? '') === '') {
      status.markExportInvalid({ reason: 'APIExportInvalidReference', message: 'Missing APIExport reference' });
      return undefined;
    }
    const key = exportKey(bindingExportReference(binding), reference.cluster);
    try {
      const found = this.#finder.find(bindingExportReference(binding), reference);
      if (found === 'not-synced') return undefined;
      const isReplaced = found !== 'absent' && isDifferentExport(found, binding);
      if (found !== 'absent' && !isReplaced) return found;
      const why = isReplaced ? ': the one that has its path now is another one' : '';
      status.markExportInvalid({ reason: 'APIExportNotFound', message: `APIExport ${key} not found${why}` });
    } catch (error) {
      const message = `Error getting APIExport ${key}: ${errorText(error)}`;
      status.markExportInvalid({ reason: 'InternalError', message });
    }
    return undefined;
  }

  /**
   * Locks of resources that the export has dropped and that still have objects. The deletion of the last object requeues
   * the binding.
   */
  #droppedInUse(
    resources: readonly OfferedResource[],
    reference: ObjectReference,
    status: APIBindingStatusBuilder,
  ): readonly string[] {
    const { cluster } = reference;
    const offered = new Set(resources.map(lockOf));
    const dropped = (status.value.boundResources ?? []).filter((bound) => !offered.has(lockName(bound)));
    this.#dropped.set(keyOf(reference), cluster, dropped.map(lockName));
    return dropped.filter((bound) => this.#hasObjects(cluster, bound)).map(lockName);
  }

  #hasObjects(cluster: LogicalClusterName, { group, resource, storageVersions }: BoundResource): boolean {
    const stored = { group, version: storageVersions?.at(-1) ?? '', resource };
    for (const _record of this.#metadata.list({ cluster, resource: stored })) return true;
    return false;
  }

  async #lock(
    { cluster, name }: ObjectReference,
    wanted: ReadonlySet<string>,
    status: APIBindingStatusBuilder,
  ): Promise<ReadonlyMap<string, ResourceLock>> {
    try {
      return await this.#locks.acquire(cluster, name, wanted);
    } catch (error) {
      if (isStatusError(error, 'NotFound'))
        status.markIncomplete({ reason: 'LogicalClusterNotFound', message: `Unable to bind APIs: ${error.message}` });
      // The locks do not fit into the annotations of the LogicalCluster.
      else if (isStatusError(error, 'Invalid'))
        status.markIncomplete({ reason: 'InternalError', message: `Unable to bind APIs: ${error.message}` });
      throw error;
    }
  }

  /** Creates the missing definitions in `system:bound-crds`. False if a schema is invalid; the status says which. */
  async #createDefinitions(resources: readonly OfferedResource[], status: APIBindingStatusBuilder): Promise<boolean> {
    const missing = resources.filter(({ schema }) => this.#definition(schema) === undefined);
    try {
      const creations: Promise<string | undefined>[] = [];
      const slices = timeSlices();
      for (const { schema } of missing) {
        const creation = this.#creator.create(schema);
        // Awaited below, behind the time slices of the others.
        creation.catch(() => undefined);
        creations.push(creation);
        if (slices.isExceeded) await slices.yield();
      }
      const problems = await Promise.all(creations);
      const message = problems.find((problem) => problem !== undefined);
      if (message === undefined) return true;
      status.markIncomplete({ reason: 'APIResourceSchemaInvalid', message });
      return false;
    } catch (error) {
      const message =
        'An internal error prevented the APIBinding process from completing. Please contact your system administrator for assistance';
      status.markIncomplete({ reason: 'InternalError', message });
      throw error;
    }
  }

  readonly #storedVersions = (schema: DeepReadonly<APIResourceSchema>): readonly string[] | undefined => {
    const { conditions, storedVersions = [] } = this.#definition(schema)?.status ?? {};
    return isConditionTrue(conditions, 'Established') && !isConditionTrue(conditions, 'Terminating')
      ? storedVersions
      : undefined;
  };

  #definition(schema: DeepReadonly<APIResourceSchema>): DeepReadonly<CustomResourceDefinition> | undefined {
    return this.#definitions.get({ cluster: boundCluster, namespace: '', name: uidOf(schema) });
  }
}

const uidOf = ({ metadata }: DeepReadonly<APIResourceSchema>): string => metadata.uid ?? '';

const lockOf = ({ schema: { spec } }: OfferedResource): string =>
  lockName({ group: spec?.group ?? '', resource: spec?.names.plural ?? '' });

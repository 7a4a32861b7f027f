import {
  deepEqual,
  isConditionTrue,
  type DeepReadonly,
  type Json,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  boundDefinitionsCluster,
  lockName,
  releasedLocks,
  schemaClusterAnnotation,
  schemaNameAnnotation,
  type APIBinding,
  type APIExport,
  type APIResourceSchema,
} from '@multiplane/apis';
import type { Informer, InformerFactory, InformerSource, ObjectReference, WorkQueue } from '@multiplane/client';
import { crds, isEstablished, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { addAll } from '../runtime/add-all.ts';
import { keyOf } from '../runtime/object-key.ts';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from '../tenancy/kinds.ts';
import { isDeletingContent } from '../tenancy/logical-cluster-deletion.ts';
import type { APIBindingReconciler } from './api-binding-reconcile.ts';
import type { APIBindingStatusWriter } from './api-binding-status-writer.ts';
import type { ExportReferenceIndex } from './export-reference-index.ts';

const boundCluster = boundDefinitionsCluster as LogicalClusterName;
/** Bindings of a changed export that are queued immediately; the others follow one by one. */
const immediateBindings = 16;
/** Spacing of the others, longer than a pass that writes, so that other work gets most of the time. */
const spacingMs = 12;

export interface APIBindingEnqueueModules {
  readonly informers: InformerFactory;
  readonly globalInformers: InformerSource;
  readonly byExport: ExportReferenceIndex<APIBinding>;
  readonly queue: WorkQueue;
  readonly reconciler: APIBindingReconciler;
  readonly statusWriter: APIBindingStatusWriter;
}

/**
 * Queues APIBindings for changes of what they depend on:
 *
 *   binding             → itself; bindings beside it that wait for a name it has released
 *   export, schema      → the bindings to it, spread over time
 *   bound definition    → the bindings that wait for it, or all that use its schema
 *   other definition    → the incomplete bindings of its logical cluster, for its names
 *   lock released       → the incomplete bindings of the logical cluster
 */
export class APIBindingEnqueue {
  readonly #modules: APIBindingEnqueueModules;
  readonly #bindings: Informer<APIBinding>;
  readonly #exports: Informer<APIExport>;

  constructor(modules: APIBindingEnqueueModules) {
    this.#modules = modules;
    this.#bindings = modules.informers.informer<APIBinding>(apiBindings);
    this.#exports = modules.globalInformers.informer<APIExport>(apiExports);
  }

  addHandlers(): void {
    const { informers, globalInformers } = this.#modules;
    this.#handleBindings();
    this.#exports.addHandlers({
      added: (object, reference, isInInitialList) => this.#bindingsOf(object, reference, isInInitialList),
      updated: (object, old, reference) => {
        if (!deepEqual(offeredBy(object), offeredBy(old))) this.#bindingsOf(object, reference);
      },
      deleted: (old, reference) => this.#bindingsOf(old, reference),
    });
    globalInformers.informer<APIResourceSchema>(apiResourceSchemas).addHandlers({
      added: (_schema, reference, isInInitialList) => this.#bindingsOfSchema(reference, isInInitialList),
      deleted: (_schema, reference) => this.#bindingsOfSchema(reference),
    });
    informers.informer<CustomResourceDefinition>(crds).addHandlers({
      added: (definition, { cluster, name }) => {
        if (cluster === boundCluster && isEstablished(definition)) this.#established(name);
      },
      updated: (definition, old, { cluster, name }) => {
        if (cluster === boundCluster && isEstablished(definition) && !isEstablished(old)) this.#established(name);
        else if (servedBy(definition) !== servedBy(old)) this.#definitionChanged(definition, cluster);
      },
      deleted: (definition, { cluster }) => this.#definitionChanged(definition, cluster),
    });
    informers.informer<LogicalCluster>(logicalClusters).addHandlers({
      updated: (object, old, { cluster }) => {
        if (releasedLocks(old, object).length > 0) this.#incompleteBindings(cluster);
      },
    });
  }

  #handleBindings(): void {
    const { informers, queue, reconciler, statusWriter } = this.#modules;
    const clusters = informers.informer<LogicalCluster>(logicalClusters);
    this.#bindings.addHandlers({
      added: (binding, reference, isInInitialList) => {
        if (isInInitialList === true || !reconciler.isFullyBound(binding, reference))
          queue.add(keyOf(reference), isInInitialList);
      },
      updated: (binding, old, reference) => {
        const isOwn = statusWriter.isOwnWrite(binding, old, reference);
        if (!isOwn && !deepEqual(ownedFields(binding), ownedFields(old))) queue.add(keyOf(reference));
        if (releases(binding, old)) this.#incompleteBindings(reference.cluster);
      },
      deleted: (_old, reference) => {
        statusWriter.forget(reference);
        // In a logical cluster that is being deleted no binding gets the name.
        const object = clusters.get({ ...reference, name: logicalClusterObjectName });
        if (object === undefined || !isDeletingContent(object)) this.#incompleteBindings(reference.cluster);
      },
    });
  }

  /**
   * An export may have a hundred thousand bindings, so all but the first are spread over time; requests follow the export
   * without waiting for that (docs/adr/0061). In the initial list an export changes nothing for its bindings, except for
   * those that did not find it before.
   */
  #bindingsOf(object: DeepReadonly<APIExport>, reference: ObjectReference, isInInitialList = false): void {
    const { queue, byExport, reconciler } = this.#modules;
    let count = 0;
    const add = (key: string): void =>
      isInInitialList && !reconciler.isAwaitingExports(key)
        ? queue.add(key, true)
        : queue.addAfter(key, (count++ - immediateBindings) * spacingMs);
    addAll({ add }, byExport.of(object, reference));
  }

  #bindingsOfSchema({ cluster, name }: ObjectReference, isInInitialList = false): void {
    for (const object of this.#exports.list({ cluster })) {
      if (object.spec?.resources?.some(({ schema }) => schema === name) !== true) continue;
      this.#bindingsOf(object, { cluster, namespace: '', name: object.metadata.name ?? '' }, isInInitialList);
    }
  }

  #established(definition: string): void {
    for (const key of this.#modules.reconciler.waitingFor(definition)) this.#modules.queue.add(key);
  }

  #definitionChanged(definition: DeepReadonly<CustomResourceDefinition>, cluster: LogicalClusterName): void {
    if (cluster !== boundCluster) {
      this.#incompleteBindings(cluster);
      return;
    }
    const { annotations } = definition.metadata;
    const schemaCluster = (annotations?.[schemaClusterAnnotation] ?? '') as LogicalClusterName;
    this.#bindingsOfSchema({
      cluster: schemaCluster,
      namespace: '',
      name: annotations?.[schemaNameAnnotation] ?? '',
    });
  }

  /** Names may have become free. */
  #incompleteBindings(cluster: LogicalClusterName): void {
    for (const { metadata, status } of this.#bindings.list({ cluster }))
      if (!isConditionTrue(status?.conditions, 'BindingUpToDate'))
        this.#modules.queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
  }
}

/** Whether a binding has given up names: it no longer has a resource, or has it by another schema. */
function releases(binding: DeepReadonly<APIBinding>, old: DeepReadonly<APIBinding>): boolean {
  const before = old.status?.boundResources ?? [];
  const now = binding.status?.boundResources ?? [];
  if (before.length === 0 || deepEqual(before, now)) return false;
  const bound = new Set(now.map((entry) => `${lockName(entry)} ${entry.schema.UID}`));
  return before.some((entry) => !bound.has(`${lockName(entry)} ${entry.schema.UID}`));
}

/** The fields of a binding that this controller reads or writes; those about claims belong to another controller. */
function ownedFields({ metadata, spec, status }: DeepReadonly<APIBinding>): Json {
  const { conditions = [], appliedPermissionClaims: _claims, ...rest } = status ?? {};
  const own = conditions.filter(({ type }) => !type.startsWith('PermissionClaims'));
  return [metadata.deletionTimestamp ?? '', spec ?? {}, rest, own] as unknown as Json;
}

/** The fields of an export that its bindings depend on. */
const offeredBy = ({ spec, status }: DeepReadonly<APIExport>): Json =>
  [spec?.resources ?? [], spec?.permissionClaims ?? [], status?.identityHash ?? ''] as unknown as Json;

/** The fields of a definition that bindings wait for or conflict with. */
const servedBy = ({ status, metadata }: DeepReadonly<CustomResourceDefinition>): string =>
  JSON.stringify([
    isConditionTrue(status?.conditions, 'Established'),
    isConditionTrue(status?.conditions, 'Terminating'),
    metadata.deletionTimestamp !== undefined,
    status?.acceptedNames,
    status?.storedVersions,
  ]);

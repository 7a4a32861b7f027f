import {
  clusterAnnotation,
  deepEqual,
  errorText,
  isConditionTrue,
  isStatusError,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  boundDefinitionsCluster,
  lockName,
  resourceBindingsAnnotation,
  schemaClusterAnnotation,
  schemaNameAnnotation,
  type APIBinding,
  type APIExport,
  type APIResourceSchema,
  type BoundResource,
  type ExportedResource,
} from '@multiplane/apis';
import type { InformerSource, ObjectReference, PathAndNameLookup } from '@multiplane/client';
import { crds, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { mutable } from '../runtime/update-status.ts';
import { logicalClusters, type LogicalCluster } from '../tenancy/kinds.ts';
import { BindingStatus, boundResourceOf } from './binding-status.ts';
import { BoundDefinitionMaker } from './bound-definition-maker.ts';
import { ExportFinder, exportOfBinding, pathOf, type ExportReferrers } from './export-finder.ts';
import { namingConflict, type NamedDefinition } from './naming-conflict.ts';
import { locksText, ResourceLockKeeper } from './resource-lock-keeper.ts';

const boundCluster = boundDefinitionsCluster as LogicalClusterName;
/** Definitions are established within moments. That a binding waits for one is told only when it takes longer. */
const worthTellingMs = 250;

export interface APIBindingControllerModules extends ControllerModules {
  /** Exports, schemas and conversions of all shards. */
  readonly globalInformers: InformerSource;
  /** Exports of all shards. */
  readonly exports: PathAndNameLookup<APIExport>;
  readonly byExport: ExportReferrers<APIBinding>;
  /** Writes a binding and its status at once. */
  readonly updateWhole: (cluster: LogicalClusterName, binding: KubeObject) => Promise<KubeObject>;
}

/** A resource of an export with its schema. */
interface Offer {
  readonly exported: DeepReadonly<ExportedResource>;
  readonly schema: DeepReadonly<APIResourceSchema>;
  readonly lock: string;
}

/**
 * Binds APIs (C5.11). One pass of one binding:
 *
 * ```
 * find the export, its identity, its schemas ──► lock the names of its resources on the LogicalCluster
 *   ──► names of other definitions in the way? ──► definition of each schema in `system:bound-crds` there and Established?
 *   ──► status: what is bound, conditions, phase
 * ```
 *
 * Each step is idempotent and reads only what lies in the store, so a pass that breaks off anywhere is finished by the
 * next one, here or on another replica. Whatever a pass waits for brings the binding back as an event: nothing is polled.
 *
 * Unlike the reference, a resource that the export no longer has is let go: unlocked and no longer served, as soon as it
 * has no objects in the logical cluster (docs/adr/0060).
 */
export function apiBindingController(modules: APIBindingControllerModules): Controller {
  const { informers, globalInformers, client, clock, byExport, updateWhole } = modules;
  const bindings = informers.informer<APIBinding>(apiBindings);
  const definitions = informers.informer<CustomResourceDefinition>(crds);
  const clusters = informers.informer<LogicalCluster>(logicalClusters);
  const allExports = globalInformers.informer<APIExport>(apiExports);
  const schemas = globalInformers.informer<APIResourceSchema>(apiResourceSchemas);
  const locks = new ResourceLockKeeper(modules);
  const controller: Controller = new Controller({ name: 'apibinding', reconcile, workers: 16 }, modules);
  const { queue } = controller;
  /** Bindings that hold a resource only because it has objects, by logical cluster and resource. */
  const leftovers = new Map<string, Set<string>>();
  /** Versions that this controller has just written: they tell it nothing. */
  const own = new Map<string, string>();
  /** Bindings whose definitions are on their way, and since when. */
  const waiting = new Map<string, number>();
  const maker = new BoundDefinitionMaker(modules);
  const finder = new ExportFinder({ exports: modules.exports, again: (key) => queue.add(key) });

  bindings.addHandlers({
    added: (_binding, reference) => queue.add(keyOf(reference)),
    updated: (binding, old, reference) => {
      const key = keyOf(reference);
      if (own.get(key) === binding.metadata.resourceVersion) own.delete(key);
      else if (!deepEqual(followed(binding), followed(old))) queue.add(key);
      if (!deepEqual(boundBy(binding), boundBy(old))) awakenIn(reference.cluster);
    },
    deleted: (_old, reference) => {
      own.delete(keyOf(reference));
      awakenIn(reference.cluster);
    },
  });
  allExports.addHandlers({
    added: (object, reference) => ofExport(object, reference),
    updated: (object, old, reference) => {
      if (!deepEqual(offeredBy(object), offeredBy(old))) ofExport(object, reference);
    },
    deleted: (old, reference) => ofExport(old, reference),
  });
  schemas.addHandlers({
    added: (_schema, reference) => ofSchema(reference),
    deleted: (_schema, reference) => ofSchema(reference),
  });
  definitions.addHandlers({
    added: (definition, { cluster }) => {
      if (cluster === boundCluster && isConditionTrue(definition.status?.conditions, 'Established'))
        definitionTouched(definition, cluster);
    },
    updated: (definition, old, { cluster }) => {
      if (servedBy(definition) !== servedBy(old)) definitionTouched(definition, cluster);
    },
    deleted: (definition, { cluster }) => definitionTouched(definition, cluster),
  });
  clusters.addHandlers({
    updated: (object, old, { cluster }) => {
      if (locksOf(object) !== locksOf(old)) awakenIn(cluster);
    },
  });
  informers.metadata.addHandlers({
    changed: () => {},
    deleted: ({ cluster, resource }) => {
      if (leftovers.size === 0) return;
      for (const key of leftovers.get(`${cluster}|${lockName(resource)}`) ?? []) queue.add(key);
    },
  });

  function ofExport(object: DeepReadonly<APIExport>, reference: ObjectReference): void {
    for (const key of byExport.of(object, reference)) queue.add(key);
  }
  function ofSchema({ cluster, name }: ObjectReference): void {
    for (const object of allExports.list({ cluster })) {
      if (object.spec?.resources?.some(({ schema }) => schema === name) !== true) continue;
      ofExport(object, { cluster, namespace: '', name: object.metadata.name ?? '' });
    }
  }
  function definitionTouched(definition: DeepReadonly<CustomResourceDefinition>, cluster: LogicalClusterName): void {
    if (cluster !== boundCluster) {
      awakenIn(cluster);
      return;
    }
    const { annotations } = definition.metadata;
    const schemaCluster = (annotations?.[schemaClusterAnnotation] ?? '') as LogicalClusterName;
    ofSchema({ cluster: schemaCluster, namespace: '', name: annotations?.[schemaNameAnnotation] ?? '' });
  }
  /** Names may have become free: those that wait for one look again. */
  function awakenIn(cluster: LogicalClusterName): void {
    for (const { metadata, status } of bindings.list({ cluster }))
      if (!isConditionTrue(status?.conditions, 'BindingUpToDate'))
        queue.add(keyOf({ cluster, namespace: '', name: metadata.name ?? '' }));
  }

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const binding = bindings.get(reference);
    if (binding === undefined || binding.metadata.deletionTimestamp !== undefined) {
      forgetLeftovers(key);
      waiting.delete(key);
      return;
    }
    const status = new BindingStatus(binding.status, new Date(clock.now()));
    const tell = async (): Promise<void> => {
      const value = status.value as unknown as JsonObject;
      if (deepEqual(binding.status ?? {}, value)) return;
      const changed = mutable(binding, { status: value });
      // What is bound is seen by who provides it from that moment on: admission puts his label on what is written whole.
      const { metadata } =
        status.value.phase === 'Bound' && binding.status?.phase !== 'Bound'
          ? await updateWhole(reference.cluster, changed)
          : await client.update(apiBindings, reference.cluster, changed, { subresource: 'status' });
      // Seen already, or about to be.
      if (bindings.get(reference)?.metadata.resourceVersion !== metadata.resourceVersion)
        own.set(key, metadata.resourceVersion ?? '');
    };
    let outcome: 'told' | 'conflict' | 'waits';
    try {
      outcome = await bind(binding, reference, status);
    } catch (error) {
      status.summarize();
      await tell();
      throw error;
    }
    if (outcome === 'waits') {
      const since = waiting.get(key) ?? clock.monotonic();
      waiting.set(key, since);
      const left = since + worthTellingMs - clock.monotonic();
      if (left > 0) return left;
    } else {
      waiting.delete(key);
    }
    if (outcome !== 'conflict') status.summarize();
    await tell();
  }

  /** `conflict` where the reference leaves Ready as it is; `waits` where the definitions are on their way. */
  async function bind(
    binding: DeepReadonly<APIBinding>,
    reference: ObjectReference,
    status: BindingStatus,
  ): Promise<'told' | 'conflict' | 'waits'> {
    const object = exportOf(binding, reference, status);
    if (object === undefined) return 'told';
    status.exportFound(object);
    if ((object.status?.identityHash ?? '') === '') {
      const message = `APIExport ${wordsOf(binding, reference)} is missing status.identityHash`;
      status.exportInvalid({ reason: 'MissingIdentityHash', severity: 'Warning', message });
      return 'told';
    }
    status.value.apiExportClusterName = clusterOf(object);
    const offers = offersOf(object, status);
    if (offers === undefined) return 'told';
    const left = leftoversOf(offers, reference, status);
    const skipped = await lock(reference, new Set([...offers.map(({ lock: name }) => name), ...left]), status);
    status.keep(
      (resource) => left.has(lockName(resource)) || offers.some((offer) => offer.lock === lockName(resource)),
    );
    const taken = takenIn(reference);
    const waitFor: string[] = [];
    const missing: DeepReadonly<APIResourceSchema>[] = [];
    for (const offer of offers) {
      const { exported, schema } = offer;
      const other = skipped.get(offer.lock);
      // Of a definition of the logical cluster itself its name says more than the lock.
      if (other !== undefined && other.c !== true) continue;
      const conflict = namingConflict(schema, taken);
      if (conflict !== undefined) {
        status.incomplete({ reason: 'NamingConflicts', message: `Unable to bind APIs: ${conflict}` });
        return 'conflict';
      }
      if (other !== undefined) continue;
      if ((schema.spec?.versions.length ?? 0) > 1 && schema.spec?.conversion === undefined) {
        const message = 'Invalid APIExport. Please contact the APIExport owner to resolve';
        status.exportInvalid({ reason: 'InternalError', message });
        return 'told';
      }
      const definition = definitions.get({ cluster: boundCluster, namespace: '', name: schema.metadata.uid ?? '' });
      if (definition === undefined) missing.push(schema);
      const conditions = definition?.status?.conditions;
      if (!isConditionTrue(conditions, 'Established') || isConditionTrue(conditions, 'Terminating')) {
        waitFor.push(exported.schema);
        continue;
      }
      const { storedVersions = [] } = definition?.status ?? {};
      status.put(boundResourceOf(object, exported, schema, storedVersions, binding.status));
    }
    if (!(await makeDefinitions(missing, status))) return 'told';
    status.exportValid(object);
    if (waitFor.length > 0) {
      status.waitFor(waitFor);
      return 'waits';
    }
    if (skipped.size > 0) {
      const message = `Unable to bind APIs because they are bound by other APIBindings or CRDs: ${locksText(skipped)}`;
      status.incomplete({ reason: 'NamingConflicts', message });
    } else {
      status.bound(binding.spec?.permissionClaims);
    }
    return 'told';
  }

  /** Undefined: not there, and the status tells why. */
  function exportOf(
    binding: DeepReadonly<APIBinding>,
    reference: ObjectReference,
    status: BindingStatus,
  ): DeepReadonly<APIExport> | undefined {
    if ((exportOfBinding(binding).name ?? '') === '') {
      status.exportInvalid({ reason: 'APIExportInvalidReference', message: 'Missing APIExport reference' });
      return undefined;
    }
    const words = wordsOf(binding, reference);
    try {
      const found = finder.find(exportOfBinding(binding), reference);
      if (typeof found !== 'string') return found;
      if (found === 'absent')
        status.exportInvalid({ reason: 'APIExportNotFound', message: `APIExport ${words} not found` });
    } catch (error) {
      const message = `Error getting APIExport ${words}: ${errorText(error)}`;
      status.exportInvalid({ reason: 'InternalError', message });
    }
    return undefined;
  }

  /** Undefined: a schema is missing, and the status tells which. */
  function offersOf(object: DeepReadonly<APIExport>, status: BindingStatus): Offer[] | undefined {
    const cluster = clusterOf(object) as LogicalClusterName;
    const offers: Offer[] = [];
    for (const exported of object.spec?.resources ?? []) {
      const schema = schemas.get({ cluster, namespace: '', name: exported.schema });
      if (schema?.spec === undefined) {
        status.exportInvalid({
          reason: 'InternalError',
          message: `Invalid APIExport. Please contact the APIExport owner to resolve: APIResourceSchema ${JSON.stringify(exported.schema)} not found`,
        });
        return undefined;
      }
      const { group = '', names } = schema.spec;
      offers.push({ exported, schema, lock: lockName({ group, resource: names.plural }) });
    }
    return offers;
  }

  /** Resources that the export no longer has and that still have objects; the last object that goes brings the binding back. */
  function leftoversOf(offers: readonly Offer[], reference: ObjectReference, status: BindingStatus): Set<string> {
    const key = keyOf(reference);
    const { cluster } = reference;
    forgetLeftovers(key);
    const offered = new Set(offers.map(({ lock: name }) => name));
    const left = new Set<string>();
    for (const bound of status.value.boundResources ?? []) {
      const name = lockName(bound);
      if (offered.has(name) || !hasObjects(cluster, bound)) continue;
      left.add(name);
      const place = `${cluster}|${name}`;
      leftovers.set(place, (leftovers.get(place) ?? new Set()).add(key));
    }
    return left;
  }
  function forgetLeftovers(key: string): void {
    for (const [place, keys] of leftovers) if (keys.delete(key) && keys.size === 0) leftovers.delete(place);
  }
  function hasObjects(cluster: LogicalClusterName, { group, resource, storageVersions }: BoundResource): boolean {
    const wanted = { group, version: storageVersions?.at(-1) ?? '', resource };
    for (const _record of informers.metadata.list({ cluster, resource: wanted })) return true;
    return false;
  }

  async function lock({ cluster, name }: ObjectReference, wanted: ReadonlySet<string>, status: BindingStatus) {
    try {
      return await locks.hold(cluster, name, wanted);
    } catch (error) {
      if (isStatusError(error, 'NotFound'))
        status.incomplete({
          reason: 'LogicalClusterNotFound',
          message: `Unable to bind APIs: ${error.message}`,
        });
      throw error;
    }
  }

  /** Definitions that have names in a logical cluster without this binding. */
  function takenIn({ cluster, name }: ObjectReference): NamedDefinition[] {
    const taken: NamedDefinition[] = definitions.list({ cluster }).map((definition) => ({ definition }));
    for (const binding of bindings.list({ cluster })) {
      if (binding.metadata.name === name) continue;
      for (const { schema } of binding.status?.boundResources ?? []) {
        const definition = definitions.get({ cluster: boundCluster, namespace: '', name: schema.UID });
        if (definition !== undefined) taken.push({ definition, binding });
      }
    }
    return taken;
  }

  /** False: one of them cannot be, and the status tells why. */
  async function makeDefinitions(
    missing: readonly DeepReadonly<APIResourceSchema>[],
    status: BindingStatus,
  ): Promise<boolean> {
    try {
      const problems = await Promise.all(missing.map((schema) => maker.make(schema)));
      const message = problems.find((problem) => problem !== undefined);
      if (message === undefined) return true;
      status.incomplete({ reason: 'APIResourceSchemaInvalid', message });
      return false;
    } catch (error) {
      const message =
        'An internal error prevented the APIBinding process from completing. Please contact your system administrator for assistance';
      status.incomplete({ reason: 'InternalError', message });
      throw error;
    }
  }
  return controller;
}

const wordsOf = (binding: DeepReadonly<APIBinding>, { cluster }: ObjectReference): string =>
  `${pathOf(exportOfBinding(binding), cluster)}|${exportOfBinding(binding).name ?? ''}`;
const clusterOf = ({ metadata }: DeepReadonly<APIExport>): string => metadata.annotations?.[clusterAnnotation] ?? '';
const locksOf = ({ metadata }: DeepReadonly<LogicalCluster>): string | undefined =>
  metadata.annotations?.[resourceBindingsAnnotation];

const boundBy = ({ status }: DeepReadonly<APIBinding>): Json => (status?.boundResources ?? []) as unknown as Json;

/** What of a binding is this controller's business; the rest of its status is that of its claims. */
function followed({ metadata, spec, status }: DeepReadonly<APIBinding>): Json {
  const { conditions = [], appliedPermissionClaims: _claims, ...rest } = status ?? {};
  const own = conditions.filter(({ type }) => !type.startsWith('PermissionClaims'));
  return [metadata.deletionTimestamp ?? '', spec ?? {}, rest, own] as unknown as Json;
}

/** What of an export its bindings follow. */
const offeredBy = ({ spec, status }: DeepReadonly<APIExport>): Json =>
  [spec?.resources ?? [], spec?.permissionClaims ?? [], status?.identityHash ?? ''] as unknown as Json;

/** What of a definition bindings wait for or collide with. */
const servedBy = ({ status, metadata }: DeepReadonly<CustomResourceDefinition>): string =>
  JSON.stringify([
    isConditionTrue(status?.conditions, 'Established'),
    isConditionTrue(status?.conditions, 'Terminating'),
    metadata.deletionTimestamp !== undefined,
    status?.acceptedNames,
    status?.storedVersions,
  ]);

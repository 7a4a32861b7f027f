import {
  deepEqual,
  isConditionTrue,
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
  releasedLocks,
  schemaClusterAnnotation,
  schemaNameAnnotation,
  type APIBinding,
  type APIExport,
  type APIResourceSchema,
} from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import { crds, isEstablished, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import { addAll } from '../runtime/add-all.ts';
import { Controller } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { mutable } from '../runtime/update-status.ts';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from '../tenancy/kinds.ts';
import { isBeingEmptied } from '../tenancy/logical-cluster-removal.ts';
import { Binder, type BinderModules } from './binder.ts';
import { BindingStatus } from './binding-status.ts';
import type { ExportReferrers } from './export-finder.ts';

const boundCluster = boundDefinitionsCluster as LogicalClusterName;
/** Definitions are established within moments. That a binding waits for one is told only when it takes longer. */
const worthTellingMs = 250;
/** Bindings of one export that are looked at together when it changes; the others follow one by one. */
const atOnce = 16;
/** A pass that writes takes some milliseconds: whoever asks for something else meanwhile has most of the time. */
const turnMs = 12;

/** What this controller makes of a binding that has this version. */
interface OwnWrite {
  readonly of: string | undefined;
  readonly status: Json;
}

export interface APIBindingControllerModules extends BinderModules {
  readonly byExport: ExportReferrers<APIBinding>;
  /** Writes a binding and its status at once. */
  readonly updateWhole: (cluster: LogicalClusterName, binding: KubeObject) => Promise<unknown>;
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
  const controller: Controller = new Controller({ name: 'apibinding', reconcile, workers: 16 }, modules);
  const { queue } = controller;
  /** What this controller is about to write, or has written just now: it tells it nothing. */
  const own = new Map<string, OwnWrite>();
  /** Bindings whose definitions are on their way, and since when. */
  const waiting = new Map<string, number>();
  const binder = new Binder({ ...modules, again: (key) => queue.add(key) });

  bindings.addHandlers({
    added: (binding, reference, wasThere) => {
      if (wasThere === true || !binder.isWhole(binding, reference)) queue.add(keyOf(reference), wasThere);
    },
    updated: (binding, old, reference) => {
      const key = keyOf(reference);
      const written = own.get(key);
      if (written !== undefined && written.of === old.metadata.resourceVersion) own.delete(key);
      if (!isJust(written, binding, old) && !deepEqual(followed(binding), followed(old))) queue.add(key);
      if (letsGo(binding, old)) awakenIn(reference.cluster);
    },
    deleted: (_old, reference) => {
      own.delete(keyOf(reference));
      // Nobody there gets a name any more.
      const object = clusters.get({ ...reference, name: logicalClusterObjectName });
      if (object === undefined || !isBeingEmptied(object)) awakenIn(reference.cluster);
    },
  });
  allExports.addHandlers({
    added: (object, reference, wasThere) => ofExport(object, reference, wasThere),
    updated: (object, old, reference) => {
      if (!deepEqual(offeredBy(object), offeredBy(old))) ofExport(object, reference);
    },
    deleted: (old, reference) => ofExport(old, reference),
  });
  schemas.addHandlers({
    added: (_schema, reference, wasThere) => ofSchema(reference, wasThere),
    deleted: (_schema, reference) => ofSchema(reference),
  });
  definitions.addHandlers({
    added: (definition, { cluster, name }) => {
      if (cluster === boundCluster && isEstablished(definition)) established(name);
    },
    updated: (definition, old, { cluster, name }) => {
      if (cluster === boundCluster && isEstablished(definition) && !isEstablished(old)) established(name);
      else if (servedBy(definition) !== servedBy(old)) definitionTouched(definition, cluster);
    },
    deleted: (definition, { cluster }) => definitionTouched(definition, cluster),
  });
  clusters.addHandlers({
    updated: (object, old, { cluster }) => {
      if (releasedLocks(old, object).length > 0) awakenIn(cluster);
    },
  });
  /**
   * Thousands may bind an export: beyond the first of them they take their turns among what others wait for. Requests
   * follow the export by themselves (docs/adr/0061). What was there with its bindings is nothing new to them, but to those
   * that looked for it before it was known.
   */
  function ofExport(object: DeepReadonly<APIExport>, reference: ObjectReference, wasThere = false): void {
    let count = 0;
    const add = (key: string): void =>
      wasThere && !binder.askedEarly(key) ? queue.add(key, true) : queue.addAfter(key, (count++ - atOnce) * turnMs);
    addAll({ add }, byExport.of(object, reference));
  }
  function ofSchema({ cluster, name }: ObjectReference, wasThere = false): void {
    for (const object of allExports.list({ cluster })) {
      if (object.spec?.resources?.some(({ schema }) => schema === name) !== true) continue;
      ofExport(object, { cluster, namespace: '', name: object.metadata.name ?? '' }, wasThere);
    }
  }
  /** Only who waits for it has something to gain. */
  function established(name: string): void {
    for (const key of binder.waitingFor(name)) queue.add(key);
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
      binder.forget(key);
      waiting.delete(key);
      return;
    }
    const status = new BindingStatus(binding.status, new Date(clock.now()));
    const tell = async (): Promise<void> => {
      const value = status.value as unknown as JsonObject;
      if (deepEqual(binding.status ?? {}, value)) return;
      const changed = mutable(binding, { status: value });
      // The event may come before the answer.
      own.set(key, { of: binding.metadata.resourceVersion, status: value });
      // What is bound is seen by who provides it from that moment on: admission puts his label on what is written whole.
      try {
        if (status.value.phase === 'Bound' && binding.status?.phase !== 'Bound')
          await updateWhole(reference.cluster, changed);
        else await client.update(apiBindings, reference.cluster, changed, { subresource: 'status' });
      } catch (error) {
        own.delete(key);
        throw error;
      }
    };
    let outcome: Awaited<ReturnType<Binder['bind']>>;
    try {
      outcome = await binder.bind(binding, reference, status);
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
  return controller;
}

/** Whether an event is the write itself, and nothing else with it. */
function isJust(
  written: OwnWrite | undefined,
  binding: DeepReadonly<APIBinding>,
  old: DeepReadonly<APIBinding>,
): boolean {
  return (
    written !== undefined &&
    written.of === old.metadata.resourceVersion &&
    binding.metadata.deletionTimestamp === old.metadata.deletionTimestamp &&
    deepEqual(binding.status ?? {}, written.status) &&
    deepEqual(binding.spec ?? {}, old.spec ?? {})
  );
}

/** Whether names that a binding had may be free now: it has a resource no more, or by another schema. */
function letsGo(binding: DeepReadonly<APIBinding>, old: DeepReadonly<APIBinding>): boolean {
  const before = old.status?.boundResources ?? [];
  const now = binding.status?.boundResources ?? [];
  if (before.length === 0 || deepEqual(before, now)) return false;
  const has = new Set(now.map((bound) => `${lockName(bound)} ${bound.schema.UID}`));
  return before.some((bound) => !has.has(`${lockName(bound)} ${bound.schema.UID}`));
}

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

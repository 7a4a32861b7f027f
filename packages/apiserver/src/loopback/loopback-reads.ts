import {
  type DeepReadonly,
  type KubeList,
  type KubeObject,
  type LogicalClusterName,
  apiVersionOf,
  asJson,
  deepCopy,
  parseFieldSelector,
  parseLabelSelector,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { timeSlices } from '@multiplane/component-base';
import type { CacheEntry, CacheSnapshot } from '@multiplane/storage';
import type { ObjectStore } from '../registry/object-store.ts';
import { viewFor } from '../registry/store/object-view.ts';
import { scanScope } from '../registry/store/scan-scope.ts';

/** Which objects a call of the loopback client lists. */
export interface LoopbackScope {
  readonly cluster: LogicalClusterName | '*';
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
}

/** Lists objects, as copies that belong to the caller; long lists in time slices. */
export async function listObjects(
  store: ObjectStore,
  definition: ResourceDefinition,
  scope: LoopbackScope,
  signal: AbortSignal,
): Promise<KubeList> {
  const { cache, reader } = store.modules;
  const selectors = {
    labelSelector: parseLabelSelector(scope.labelSelector ?? ''),
    fieldSelector: parseFieldSelector(''),
  };
  const view = viewFor(definition, signal, reader);
  const range = scanScope(definition, scope.cluster, scope.namespace ?? '', selectors, view ?? reader);
  await cache.freshRevision();
  const snapshot = range.snapshot(cache);
  const entries = snapshot.entries(undefined, Number.POSITIVE_INFINITY);
  await view?.prepare(entries);
  const items: KubeObject[] = [];
  const slices = timeSlices(scope.cluster);
  for (const entry of entries) {
    if (range.selection === undefined || range.selection(entry))
      items.push(copyOf((view ?? reader).object(definition, entry)));
    if (slices.isExceeded) await slices.yield();
  }
  return {
    apiVersion: apiVersionOf(definition),
    kind: definition.listKind,
    metadata: { resourceVersion: String(snapshot.revision) },
    items,
  };
}

/** The entries of all objects in a scope. */
export async function listEntries(
  store: ObjectStore,
  definition: ResourceDefinition,
  scope: Omit<LoopbackScope, 'labelSelector'>,
): Promise<readonly CacheEntry[]> {
  const { cache, reader } = store.modules;
  const selectors = { labelSelector: parseLabelSelector(''), fieldSelector: parseFieldSelector('') };
  const range = scanScope(definition, scope.cluster, scope.namespace ?? '', selectors, reader);
  await cache.freshRevision();
  const snapshot: CacheSnapshot = range.snapshot(cache);
  return snapshot.entries(undefined, Number.POSITIVE_INFINITY);
}

/** A copy that the caller may modify. */
export function copyOf(object: DeepReadonly<KubeObject>): KubeObject {
  return deepCopy(asJson(object as KubeObject)) as unknown as KubeObject;
}

import {
  deepEqual,
  type DeepReadonly,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { plainlyCounted } from '@multiplane/apis';
import type { ObjectMetadataRecord } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/update-status.ts';

const quotas: GroupVersionResource = { group: '', version: 'v1', resource: 'resourcequotas' };

type ResourceQuota = KubeObject & {
  spec?: { hard?: Record<string, string> };
  status?: { hard?: Record<string, string>; used?: Record<string, string> };
};

/** The resource behind a name in `spec.hard`; undefined for what is no count of objects (cpu, memory, …). */
export function countedResource(name: string): { group: string; resource: string } | undefined {
  if (name.startsWith('count/')) {
    const text = name.slice('count/'.length);
    const dot = text.indexOf('.');
    return dot < 0 ? { group: '', resource: text } : { group: text.slice(dot + 1), resource: text.slice(0, dot) };
  }
  return plainlyCounted.has(name) ? { group: '', resource: name } : undefined;
}

/** Between counts that nothing calls for: what failed creates were charged comes back. As in Kubernetes. */
const recountMs = 5 * 60_000;

/**
 * Counts what quotas limit (K8.3): `status.used` is recomputed when a quota's limits change, when an object of its
 * namespace goes, and every five minutes. Admission charges creates at once by compare-and-set on the same status; this
 * controller is what makes the figure true again after deletes and failed creates.
 *
 * A charge stands before its object does, so a count in between gives it back, and somebody else may spend it. Therefore
 * neither creates nor their charges call for a count: there would be one in the middle of every burst.
 */
export function resourceQuotaController(modules: ControllerModules): Controller {
  const { informers, client } = modules;
  const lister = informers.informer<ResourceQuota>(quotas);
  const controller: Controller = new Controller({ name: 'resourcequota', reconcile }, modules);
  /** How many quotas a namespace has, by the key of the namespace: most have none. */
  const quotasOf = new Map<string, number>();
  const namespaceOf = ({ cluster, namespace }: { cluster: LogicalClusterName; namespace: string }): string =>
    keyOf({ cluster, namespace: '', name: namespace });
  lister.addHandlers({
    added: (_object, reference) => {
      const namespace = namespaceOf(reference);
      quotasOf.set(namespace, (quotasOf.get(namespace) ?? 0) + 1);
      controller.queue.add(keyOf(reference));
    },
    updated: (object, _old, reference) => {
      if (!isCharged(object)) controller.queue.add(keyOf(reference));
    },
    deleted: (_old, reference) => {
      const namespace = namespaceOf(reference);
      const others = (quotasOf.get(namespace) ?? 0) - 1;
      if (others > 0) quotasOf.set(namespace, others);
      else quotasOf.delete(namespace);
    },
  });
  informers.metadata.addHandlers({
    changed: () => {},
    deleted: (record: ObjectMetadataRecord): void => {
      if (quotasOf.size === 0 || record.namespace === '' || !quotasOf.has(namespaceOf(record))) return;
      const { cluster, namespace, resource } = record;
      for (const quota of lister.list({ cluster, namespace })) {
        if (Object.keys(quota.spec?.hard ?? {}).some((name) => same(countedResource(name), resource))) {
          controller.queue.add(keyOf({ cluster, namespace, name: quota.metadata.name ?? '' }));
        }
      }
    },
  });

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const quota = lister.get(reference);
    if (quota === undefined || quota.metadata.deletionTimestamp !== undefined) return;
    const hard = quota.spec?.hard ?? {};
    const used: Record<string, string> = {};
    for (const name of Object.keys(hard)) used[name] = String(count(reference.cluster, reference.namespace, name));
    await updateStatus(client, quotas, reference.cluster, quota, { hard: { ...hard }, used });
    return recountMs;
  }

  function count(cluster: LogicalClusterName, namespace: string, name: string): number {
    const resource = countedResource(name);
    if (resource === undefined) return 0;
    let total = 0;
    for (const record of informers.metadata.list({ cluster, namespace })) if (same(resource, record.resource)) total++;
    return total;
  }
  return controller;
}

/** The status is of these limits, and says something of each. */
function isCharged({ spec, status }: DeepReadonly<ResourceQuota>): boolean {
  const hard = spec?.hard ?? {};
  const used = status?.used ?? {};
  return deepEqual(status?.hard ?? {}, hard) && Object.keys(hard).every((name) => Object.hasOwn(used, name));
}

function same(a: { group: string; resource: string } | undefined, b: DeepReadonly<GroupVersionResource>): boolean {
  return a !== undefined && a.group === b.group && a.resource === b.resource;
}

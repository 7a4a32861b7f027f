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
import { updateStatus } from '../runtime/object-writes.ts';

const quotas: GroupVersionResource = { group: '', version: 'v1', resource: 'resourcequotas' };

type ResourceQuota = KubeObject & {
  spec?: { hard?: Record<string, string> };
  status?: { hard?: Record<string, string>; used?: Record<string, string> };
};

/** The resource that a name in `spec.hard` counts; undefined for names that do not count objects (cpu, memory, …). */
export function countedResource(name: string): { group: string; resource: string } | undefined {
  if (name.startsWith('count/')) {
    const text = name.slice('count/'.length);
    const dot = text.indexOf('.');
    return dot < 0 ? { group: '', resource: text } : { group: text.slice(dot + 1), resource: text.slice(0, dot) };
  }
  return plainlyCounted.has(name) ? { group: '', resource: name } : undefined;
}

/** Resync period, as in Kubernetes; returns the charges of failed creates. */
const recountMs = 5 * 60_000;

/**
 * Recomputes `status.used` of ResourceQuotas (Kubernetes: pkg/controller/resourcequota) when the limits change, when an
 * object of the namespace is deleted, and every five minutes. Admission charges creates by compare-and-set on the same
 * status; this controller corrects the figure after deletes and failed creates.
 *
 * A create is charged before its object is stored, so a count in between would return the charge for another create to
 * use. Therefore creates and their charges do not trigger a count, or there would be one within every burst.
 */
export function resourceQuotaController(modules: ControllerModules): Controller {
  const { informers, client } = modules;
  const lister = informers.informer<ResourceQuota>(quotas);
  const controller: Controller = new Controller({ name: 'resourcequota', reconcile }, modules);
  /** Number of quotas by the key of their namespace; most namespaces have none. */
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
      if (!isUpToDate(object)) controller.queue.add(keyOf(reference));
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

/** Whether the status has the current limits and a figure for each. */
function isUpToDate({ spec, status }: DeepReadonly<ResourceQuota>): boolean {
  const hard = spec?.hard ?? {};
  const used = status?.used ?? {};
  return deepEqual(status?.hard ?? {}, hard) && Object.keys(hard).every((name) => Object.hasOwn(used, name));
}

function same(a: { group: string; resource: string } | undefined, b: DeepReadonly<GroupVersionResource>): boolean {
  return a !== undefined && a.group === b.group && a.resource === b.resource;
}

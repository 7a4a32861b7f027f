import {
  deepEqual,
  Quantity,
  type DeepReadonly,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { clusterQuotaNamespace, isClusterScopedQuota, quotaEvaluatorOf } from '@multiplane/apis';
import type { ObjectMetadataRecord } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { updateStatus } from '../runtime/object-writes.ts';
import { isContentRead, QuotaUsage } from './quota-usage.ts';

const quotas: GroupVersionResource = { group: '', version: 'v1', resource: 'resourcequotas' };

type ResourceQuota = KubeObject & {
  spec?: { hard?: Record<string, string> };
  status?: { hard?: Record<string, string>; used?: Record<string, string> };
};
type Amounts = Record<string, string>;
interface Scope {
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
}

/** Resync period, as in Kubernetes; returns the charges of failed creates. */
const recountMs = 5 * 60_000;
/** As long as a request may take: a create that admission saw before the limits can be stored until then. */
const longestCreateMs = 60_000;
/** Prefix of the keys of quotas whose figures may only be raised. */
const raise = 'raise:';

/**
 * Recomputes `status.used` of ResourceQuotas (Kubernetes: pkg/controller/resourcequota) when the limits change, when an
 * object of the namespace is deleted, when one of which the quota counts more than the number is changed, and every five
 * minutes. Admission charges writes by compare-and-set on the same status; this controller corrects the figure after
 * deletes and failed creates.
 *
 * A quota in the namespace `admin` with kcp's annotation counts the whole logical cluster.
 *
 * A create is charged before its object is stored, so a count in between would return the charge for another create to
 * use. Therefore creates and their charges do not trigger a count, or there would be one within every burst. But a create
 * that admission saw before the limits were in the status was not charged, and may be stored after the count that
 * published them. So creates within the longest time of a request after that count trigger another one, which only
 * raises figures: charges under way stay.
 */
export function resourceQuotaController(modules: ControllerModules): Controller {
  const { informers, client, clock } = modules;
  const usage = new QuotaUsage(modules);
  const lister = informers.informer<ResourceQuota>(quotas);
  const controller: Controller = new Controller({ name: 'resourcequota', reconcile }, modules);
  /** Number of quotas by the key of their namespace; most namespaces have none. */
  const quotasOf = new Map<string, number>();
  /** Until when creates may be stored that admission saw before the limits, by the key of the quota; soonest first. */
  const unchargedUntil = new Map<string, number>();
  const namespaceOf = ({ cluster, namespace }: Scope): string => keyOf({ cluster, namespace: '', name: namespace });
  lister.addHandlers({
    added: (_object, reference) => {
      const namespace = namespaceOf(reference);
      quotasOf.set(namespace, (quotasOf.get(namespace) ?? 0) + 1);
      controller.queue.add(keyOf(reference));
    },
    updated: (object, old, reference) => {
      if (!isUpToDate(object) || isClusterScopedQuota(object) !== isClusterScopedQuota(old))
        controller.queue.add(keyOf(reference));
    },
    deleted: (_old, reference) => {
      const namespace = namespaceOf(reference);
      const others = (quotasOf.get(namespace) ?? 0) - 1;
      if (others > 0) quotasOf.set(namespace, others);
      else quotasOf.delete(namespace);
      unchargedUntil.delete(keyOf(reference));
    },
  });
  informers.metadata.addHandlers({
    changed: (record, old): void => {
      for (const { key, quota } of quotasThatCount(record)) {
        if (old !== undefined) {
          if (isContentRead(record.resource)) controller.queue.add(key);
        } else if (!isUpToDate(quota) || (unchargedUntil.get(key) ?? 0) > clock.now())
          controller.queue.add(raise + key);
      }
    },
    deleted: (record): void => {
      for (const { key } of quotasThatCount(record)) controller.queue.add(key);
    },
  });

  function* quotasThatCount(
    record: ObjectMetadataRecord,
  ): Generator<{ key: string; quota: DeepReadonly<ResourceQuota> }> {
    if (quotasOf.size === 0) return;
    const { cluster } = record;
    const isNamespaced = record.namespace !== '' && record.namespace !== clusterQuotaNamespace;
    for (const namespace of isNamespaced ? [record.namespace, clusterQuotaNamespace] : [clusterQuotaNamespace]) {
      if (!quotasOf.has(namespaceOf({ cluster, namespace }))) continue;
      const { group, resource } = record.resource;
      const evaluator = quotaEvaluatorOf(group, resource);
      for (const quota of lister.list({ cluster, namespace })) {
        if (namespace !== record.namespace && !isClusterScopedQuota(quota)) continue;
        if (Object.keys(quota.spec?.hard ?? {}).some((name) => evaluator.counts(name)))
          yield { key: keyOf({ cluster, namespace, name: quota.metadata.name ?? '' }), quota };
      }
    }
  }

  async function reconcile(queued: string): Promise<number | void> {
    const isRaise = queued.startsWith(raise);
    const key = isRaise ? queued.slice(raise.length) : queued;
    const reference = referenceOf(key);
    const quota = lister.get(reference);
    if (quota === undefined || quota.metadata.deletionTimestamp !== undefined) return;
    const hard = quota.spec?.hard ?? {};
    const wasUpToDate = isUpToDate(quota);
    const { cluster, namespace } = reference;
    const counted = await usage.of(quota, { cluster, namespace: isClusterScopedQuota(quota) ? undefined : namespace });
    const used = isRaise && wasUpToDate ? raised(quota.status?.used ?? {}, counted) : counted;
    // Before the write: from then on events of creates are compared with the limits.
    if (!wasUpToDate) expectUncharged(key);
    await updateStatus(client, quotas, reference.cluster, quota, { hard: { ...hard }, used });
    return isRaise ? undefined : recountMs;
  }

  function expectUncharged(key: string): void {
    const now = clock.now();
    for (const [other, until] of unchargedUntil) {
      if (until > now) break;
      unchargedUntil.delete(other);
    }
    unchargedUntil.delete(key);
    unchargedUntil.set(key, now + longestCreateMs);
  }

  return controller;
}

/** Whether the status has the current limits and a figure for each. */
function isUpToDate({ spec, status }: DeepReadonly<ResourceQuota>): boolean {
  const hard = spec?.hard ?? {};
  const used = status?.used ?? {};
  return deepEqual(status?.hard ?? {}, hard) && Object.keys(hard).every((name) => Object.hasOwn(used, name));
}

/** Each figure, or what was counted if that is more. */
function raised(used: DeepReadonly<Amounts>, counted: Amounts): Amounts {
  return Object.fromEntries(
    Object.entries(counted).map(([name, amount]) => {
      const known = used[name] ?? '0';
      return [name, Quantity.parse(known).compare(Quantity.parse(amount)) < 0 ? amount : known];
    }),
  );
}

import {
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
  Quantity,
  type JsonObject,
  asJson,
  deepCopy,
} from '@multiplane/apimachinery';
import {
  clusterQuotaNamespace,
  contentEvaluators,
  isClusterScopedQuota,
  quotaEvaluatorOf,
  scopeRequirements,
  type QuotaAmounts,
  type QuotaEvaluator,
  type ResourceDefinition,
} from '@multiplane/apis';
import { RequestWork, type Clock } from '@multiplane/component-base';
import { type CacheEntry, type WatchCache, builtInPrefix, listPrefix } from '@multiplane/storage';
import { loopbackUser } from '../loopback/loopback-user.ts';
import type { ObjectReader } from '../registry/store/object-reader.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { ResourceResolver } from '../registry/definitions/resource-resolver.ts';
import { admissionForbidden } from './forbidden.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

const quotaPrefix = builtInPrefix('', 'resourcequotas');
const never = new AbortController().signal;

type Amounts = Readonly<Record<string, string>>;

export interface ResourceQuotaModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly resolver: ResourceResolver;
  readonly clock: Clock;
  /** The store; resolved lazily, because it is created with the chain that contains this plugin. */
  readonly store: () => ObjectStore;
}

/** A write with what decides whether and how much of it a quota counts. */
interface Charge {
  readonly attributes: AdmissionAttributes;
  readonly evaluator: QuotaEvaluator;
  readonly object: DeepReadonly<KubeObject>;
  /** Undefined for a create. */
  readonly oldObject: DeepReadonly<KubeObject> | undefined;
  readonly nowMs: number;
}

/**
 * Kubernetes' ResourceQuota: measures what a write adds, by the evaluator of the resource, and rejects it if that exceeds
 * a quota of its namespace, or of the whole logical cluster (kcp), whose scopes the object matches. Creates of every stored
 * kind count; updates only
 * of pods, services and claims. A charge updates the quota's status with compare-and-set, so that concurrent servers do
 * not exceed it; charges of writes that fail later are corrected by the controller's next recount. Quotas are read from
 * the watch cache for each request: an informer index would be empty after a start and let requests pass.
 */
export class ResourceQuotaAdmission implements AdmissionPlugin {
  readonly name = 'ResourceQuota';
  readonly #modules: ResourceQuotaModules;

  constructor(modules: ResourceQuotaModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns(definition: ResourceDefinition): boolean {
    return definition.storage !== undefined && !isExempt(definition);
  }

  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    const { cluster, namespace, definition, operation, subresource, object, oldObject } = attributes;
    if (object === undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return undefined;
    if (operation === 'UPDATE' && !readsContent(definition)) return undefined;
    const quotas = this.#quotasOf(cluster, namespace);
    if (quotas.length === 0 || isOwnersBinding(attributes)) return undefined;
    const evaluator = quotaEvaluatorOf(definition.group, definition.resource);
    if (!evaluator.handles({ operation, subresource, object, oldObject })) return undefined;
    return this.#chargeAll(quotas, { attributes, evaluator, object, oldObject, nowMs: this.#modules.clock.now() });
  }

  /** The quotas of a namespace (empty: of cluster-scoped objects), and those of the whole logical cluster. */
  #quotasOf(cluster: LogicalClusterName, namespace: string): readonly DeepReadonly<KubeObject>[] {
    const { cache, reader } = this.#modules;
    const quotasIn = (name: string): readonly CacheEntry[] => cache.listCurrent(listPrefix(quotaPrefix, cluster, name));
    const found: DeepReadonly<KubeObject>[] = [];
    if (namespace !== '' && namespace !== clusterQuotaNamespace)
      for (const entry of quotasIn(namespace)) found.push(reader.stored(entry));
    for (const entry of quotasIn(clusterQuotaNamespace)) {
      const quota = reader.stored(entry);
      if (namespace === clusterQuotaNamespace || isClusterScopedQuota(quota)) found.push(quota);
    }
    return found;
  }

  async #chargeAll(quotas: readonly DeepReadonly<KubeObject>[], charge: Charge): Promise<void> {
    // Check all quotas before charging any, because a rejected write must not be charged.
    const charged = quotas.filter((quota) => check(charge, quota) !== undefined);
    if (charge.attributes.dryRun) return;
    for (const { metadata } of charged)
      await this.#charge(charge, metadata.namespace as string, metadata.name as string);
  }

  async #charge(charge: Charge, namespace: string, name: string): Promise<void> {
    const { cluster } = charge.attributes;
    const definition = this.#modules.resolver.resolve(cluster, '', 'v1', 'resourcequotas');
    if (definition === undefined) return;
    await this.#modules.store().update(
      {
        definition,
        cluster,
        namespace,
        name,
        subresource: 'status',
        user: loopbackUser,
        dryRun: false,
        fieldManager: 'multiplane',
        options: {},
        signal: never,
        work: new RequestWork({ flow: cluster }),
        warn: () => undefined,
      },
      // Called again after each conflict, so that the limit is checked against concurrent charges.
      async (current) => {
        const quota = deepCopy(asJson(current as KubeObject));
        const used = check(charge, current as DeepReadonly<KubeObject>);
        if (used !== undefined) (quota['status'] as JsonObject)['used'] = { ...used };
        return quota as unknown as KubeObject;
      },
    );
  }
}

/** Events are not counted: they are frequent and expire. LogicalClusters are created by other shards. */
function isExempt({ group, resource }: ResourceDefinition): boolean {
  if (resource === 'logicalclusters') return group === 'core.kcp.io';
  return resource === 'events' && (group === '' || group === 'events.k8s.io');
}

/** The binding of the owner of a new workspace, which must not fail (kcp pkg/admission/kubequota). */
const isOwnersBinding = ({ definition, name }: AdmissionAttributes): boolean =>
  definition.resource === 'clusterrolebindings' &&
  definition.group === 'rbac.authorization.k8s.io' &&
  name === 'workspace-admin';

const readsContent = ({ group, resource }: ResourceDefinition): boolean =>
  group === '' && contentEvaluators.has(resource);

/**
 * The quota's `status.used` after the write; undefined if the quota does not count it. Throws 403 if the quota would be
 * exceeded, cannot be checked yet, or limits what the object does not state.
 */
function check(charge: Charge, quota: DeepReadonly<KubeObject>): Amounts | undefined {
  const { attributes, evaluator, object, nowMs } = charge;
  const status = quota['status'] as { hard?: Amounts; used?: Amounts } | undefined;
  const hard = status?.hard ?? {};
  const used = status?.used ?? {};
  const limited = Object.keys(hard).filter((name) => evaluator.counts(name));
  if (limited.length === 0 || !isInScope(charge, quota, object)) return undefined;
  const refused = (text: string): Error => admissionForbidden(attributes, text);
  const name = quota.metadata.name as string;
  const unstated = evaluator.constraint?.(limited, object);
  if (unstated !== undefined) throw refused(`failed quota: ${name}: ${unstated}`);
  if (limited.some((resource) => !Object.hasOwn(used, resource)))
    throw refused(`status unknown for quota: ${name}, resources: ${limited.toSorted().join(',')}`);

  const usage = evaluator.usage(object, nowMs);
  const negative = [...usage].filter(([, amount]) => amount.sign < 0).map(([resource]) => resource);
  if (negative.length > 0) throw refused(`quota usage is negative for resource(s): ${negative.sort().join(',')}`);
  const added = addedAmounts(charge, quota, usage, limited);
  if (added.size === 0) return undefined;
  const next: Record<string, string> = { ...used };
  const exceeded: string[] = [];
  for (const [resource, amount] of added) {
    const sum = Quantity.parse(used[resource] as string).add(amount);
    next[resource] = sum.toString();
    if (sum.compare(Quantity.parse(hard[resource] as string)) > 0) exceeded.push(resource);
  }
  // The status says what has happened already, so it is charged and not refused.
  if (exceeded.length > 0 && attributes.subresource !== 'status') {
    exceeded.sort();
    const text = (amount: (resource: string) => string): string =>
      exceeded.map((resource) => `${resource}=${amount(resource)}`).join(',');
    throw refused(
      `exceeded quota: ${name}, requested: ${text((resource) => String(added.get(resource)))}, used: ${text((resource) => used[resource] as string)}, limited: ${text((resource) => hard[resource] as string)}`,
    );
  }
  return next;
}

const isInScope = ({ evaluator }: Charge, quota: DeepReadonly<KubeObject>, object: DeepReadonly<KubeObject>): boolean =>
  scopeRequirements(quota).every((requirement) => evaluator.matches(requirement, object));

/** What the write adds of the limited amounts; what the old object used counts if the quota counted that object. */
function addedAmounts(
  charge: Charge,
  quota: DeepReadonly<KubeObject>,
  usage: QuotaAmounts,
  limited: readonly string[],
): Map<string, Quantity> {
  const { evaluator, oldObject, nowMs } = charge;
  const before =
    oldObject !== undefined && isInScope(charge, quota, oldObject) ? evaluator.usage(oldObject, nowMs) : undefined;
  const added = new Map<string, Quantity>();
  for (const name of limited) {
    const now = usage.get(name);
    if (now === undefined) continue;
    const more = now.subtract(before?.get(name) ?? Quantity.zero);
    if (more.sign > 0) added.set(name, more);
  }
  return added;
}

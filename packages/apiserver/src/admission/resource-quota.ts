import {
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  Quantity,
  asJson,
  deepCopy,
  groupResourceText,
  isJsonObject,
} from '@multiplane/apimachinery';
import { plainlyCounted, type ResourceDefinition } from '@multiplane/apis';
import { type CacheEntry, type WatchCache, builtInPrefix, listPrefix } from '@multiplane/storage';
import { loopbackUser } from '../loopback/loopback-user.ts';
import type { ObjectReader } from '../registry/store/object-reader.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { ResourceResolver } from '../registry/definitions/resource-resolver.ts';
import { groupResourceOf } from '../registry/definitions/group-resource.ts';
import { admissionForbidden } from './forbidden.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

const quotaPrefix = builtInPrefix('', 'resourcequotas');
const never = new AbortController().signal;

type Amounts = Readonly<Record<string, string>>;

export interface ResourceQuotaModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly resolver: ResourceResolver;
  /** The store; resolved lazily, because it is created with the chain that contains this plugin. */
  readonly store: () => ObjectStore;
}

/**
 * The object-count part of Kubernetes' ResourceQuota: counts created objects of every stored namespaced kind and
 * rejects those that exceed a quota of their namespace. A charge updates the quota's status with compare-and-set, so
 * that concurrent servers do not exceed it; charges of creates that fail later are corrected by the controller's next
 * recount. Quotas are read from the watch cache for each request: an informer index would be empty after a start and
 * let requests pass.
 */
export class ResourceQuotaAdmission implements AdmissionPlugin {
  readonly name = 'ResourceQuota';
  readonly #modules: ResourceQuotaModules;

  constructor(modules: ResourceQuotaModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE';
  }

  concerns(definition: ResourceDefinition): boolean {
    return definition.namespaced && definition.storage !== undefined && !isExempt(definition);
  }

  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    const { cluster, namespace, subresource } = attributes;
    if (namespace === '' || subresource !== '') return undefined;
    const quotas = this.#modules.cache.listCurrent(listPrefix(quotaPrefix, cluster, namespace));
    return quotas.length === 0 ? undefined : this.#chargeAll(quotas, attributes);
  }

  async #chargeAll(quotas: readonly CacheEntry[], attributes: AdmissionAttributes): Promise<void> {
    const { definition } = attributes;
    const names = countedNames(definition);
    const charged: string[] = [];
    // Check all quotas before charging any, because a rejected create must not be charged.
    for (const entry of quotas) {
      const quota = this.#modules.reader.stored(entry);
      if (check(attributes, quota, names) !== undefined) charged.push(quota.metadata.name as string);
    }
    if (attributes.dryRun) return;
    for (const name of charged) await this.#charge(attributes, name, names);
  }

  async #charge(attributes: AdmissionAttributes, name: string, names: readonly string[]): Promise<void> {
    const { cluster, namespace } = attributes;
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
        warn: () => undefined,
      },
      // Called again after each conflict, so that the limit is checked against concurrent charges.
      async (current) => {
        const quota = deepCopy(asJson(current as KubeObject));
        const used = check(attributes, current as DeepReadonly<KubeObject>, names);
        if (used !== undefined) (quota['status'] as JsonObject)['used'] = { ...used };
        return quota as unknown as KubeObject;
      },
    );
  }
}

/** Events are not counted: they are frequent and expire. */
function isExempt({ group, resource }: ResourceDefinition): boolean {
  return resource === 'events' && (group === '' || group === 'events.k8s.io');
}

function countedNames(definition: ResourceDefinition): string[] {
  const { group, resource } = definition;
  const count = `count/${groupResourceText(groupResourceOf(definition))}`;
  return group === '' && plainlyCounted.has(resource) ? [count, resource] : [count];
}

/**
 * The quota's `status.used` with one more object; undefined if the quota does not count it. Throws 403 if it is
 * exceeded.
 */
function check(
  attributes: AdmissionAttributes,
  quota: DeepReadonly<KubeObject>,
  names: readonly string[],
): Amounts | undefined {
  const spec = asJson(quota as KubeObject)['spec'];
  // Quota scopes only select pods.
  if (
    isJsonObject(spec ?? null) &&
    ((spec as JsonObject)['scopes'] !== undefined || (spec as JsonObject)['scopeSelector'] !== undefined)
  )
    return undefined;
  const status = quota['status'] as { hard?: Amounts; used?: Amounts } | undefined;
  const hard = status?.hard ?? {};
  const used = status?.used ?? {};
  const counted = names.filter((name) => Object.hasOwn(hard, name));
  if (counted.length === 0) return undefined;
  const name = quota.metadata.name as string;
  if (counted.some((resource) => !Object.hasOwn(used, resource))) {
    throw admissionForbidden(
      attributes,
      `status unknown for quota: ${name}, resources: ${counted.toSorted().join(',')}`,
    );
  }
  const one = Quantity.parse('1');
  const next: Record<string, string> = { ...used };
  const exceeded: string[] = [];
  for (const resource of counted) {
    const sum = Quantity.parse(used[resource] as string).add(one);
    next[resource] = sum.toString();
    if (sum.compare(Quantity.parse(hard[resource] as string)) > 0) exceeded.push(resource);
  }
  if (exceeded.length > 0) {
    exceeded.sort();
    const text = (amount: (resource: string) => string): string =>
      exceeded.map((resource) => `${resource}=${amount(resource)}`).join(',');
    throw admissionForbidden(
      attributes,
      `exceeded quota: ${name}, requested: ${text(() => '1')}, used: ${text((resource) => used[resource] as string)}, limited: ${text((resource) => hard[resource] as string)}`,
    );
  }
  return next;
}

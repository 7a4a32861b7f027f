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
import { loopbackUser } from '../informers/loopback-client.ts';
import type { ObjectReader } from '../registry/object-reader.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { ResourceResolver } from '../registry/resource-resolver.ts';
import { groupResourceOf } from '../registry/write-request.ts';
import { admissionForbidden } from './forbidden.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

const quotaPrefix = builtInPrefix('', 'resourcequotas');
const never = new AbortController().signal;

type Amounts = Readonly<Record<string, string>>;

export interface ResourceQuotaModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly resolver: ResourceResolver;
  /** The registry, once it exists: it is made with the chain that this plugin is part of. */
  readonly store: () => ObjectStore;
}

/**
 * Objects are counted when they are created and refused beyond what the quotas of their namespace allow (K6.3, generic
 * part: every namespaced kind that is stored). A charge is an update of the quota's status under compare-and-set, so two
 * servers never spend the same unit; what was charged for a create that fails later comes back with the controller's next
 * count. The quotas are what the cache has of them in that moment: an index of them would have to be built first after a
 * start, and whoever came before would pass over.
 */
export class ResourceQuotaAdmission implements AdmissionPlugin {
  readonly name = 'ResourceQuota';
  readonly #modules: ResourceQuotaModules;

  constructor(_options: Record<string, never>, modules: ResourceQuotaModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE';
  }

  concerns(definition: ResourceDefinition): boolean {
    return definition.namespaced && definition.storage !== undefined && !isUncounted(definition);
  }

  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    const { cluster, namespace, subresource } = attributes;
    if (namespace === '' || subresource !== '') return undefined;
    const quotas = this.#modules.cache.present(listPrefix(quotaPrefix, cluster, namespace));
    return quotas.length === 0 ? undefined : this.#chargeAll(quotas, attributes);
  }

  async #chargeAll(quotas: readonly CacheEntry[], attributes: AdmissionAttributes): Promise<void> {
    const { definition } = attributes;
    const names = countedNames(definition);
    const charged: string[] = [];
    // Look at all before anything is charged: what one refuses must not cost another.
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
      // Asked again after every lost race: the limit is checked against what others have charged meanwhile.
      async (current) => {
        const quota = deepCopy(asJson(current as KubeObject));
        const used = check(attributes, current as DeepReadonly<KubeObject>, names);
        if (used !== undefined) (quota['status'] as JsonObject)['used'] = { ...used };
        return quota as unknown as KubeObject;
      },
    );
  }
}

/** Events come in floods and go by themselves. */
function isUncounted({ group, resource }: ResourceDefinition): boolean {
  return resource === 'events' && (group === '' || group === 'events.k8s.io');
}

function countedNames(definition: ResourceDefinition): string[] {
  const { group, resource } = definition;
  const count = `count/${groupResourceText(groupResourceOf(definition))}`;
  return group === '' && plainlyCounted.has(resource) ? [count, resource] : [count];
}

/** What the quota's `status.used` becomes with one object more; undefined: the quota does not count it. Throws 403. */
function check(
  attributes: AdmissionAttributes,
  quota: DeepReadonly<KubeObject>,
  names: readonly string[],
): Amounts | undefined {
  const spec = asJson(quota as KubeObject)['spec'];
  // Scopes select pods by what they are; other objects match none.
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

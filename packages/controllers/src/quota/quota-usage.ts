import {
  Quantity,
  type DeepReadonly,
  type GroupVersionResource,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { contentEvaluators, quotaEvaluatorOf, scopeRequirements, type QuotaEvaluator } from '@multiplane/apis';
import { timeSlices } from '@multiplane/component-base';
import type { ControllerModules } from '../runtime/controller.ts';
import { countedResource } from './counted-resource.ts';

interface Scope {
  readonly cluster: LogicalClusterName;
  /** Undefined: all of them, and cluster-scoped objects. */
  readonly namespace: string | undefined;
}
type GroupResource = DeepReadonly<Pick<GroupVersionResource, 'group' | 'resource'>>;

/** Counts what a quota limits: most kinds from their metadata; pods, claims and services by what is in them. */
export class QuotaUsage {
  readonly #modules: Pick<ControllerModules, 'informers' | 'client' | 'clock'>;
  constructor(modules: Pick<ControllerModules, 'informers' | 'client' | 'clock'>) {
    this.#modules = modules;
  }

  /** An amount for each name in `spec.hard`; zero for names that count nothing here. */
  async of(quota: DeepReadonly<KubeObject>, scope: Scope): Promise<Record<string, string>> {
    const names = Object.keys((quota['spec'] as { hard?: object } | undefined)?.hard ?? {});
    const used = new Map(names.map((name) => [name, '0']));
    for (const [resource, evaluator] of contentEvaluators) {
      const limited = names.filter((name) => evaluator.counts(name));
      if (limited.length === 0) continue;
      const sum = await this.#sumOf(quota, scope, { group: '', resource }, evaluator);
      for (const name of limited) used.set(name, sum.get(name)?.toString() ?? '0');
    }
    const isScoped = scopeRequirements(quota).length > 0;
    const slices = timeSlices(scope.cluster);
    for (const name of isScoped ? [] : names) {
      const resource = countedResource(name);
      if (resource !== undefined && !isContentRead(resource)) used.set(name, String(this.#count(scope, resource)));
      if (slices.isExceeded) await slices.yield();
    }
    return Object.fromEntries(used);
  }

  /** What the objects of a resource use that match the scopes of the quota. */
  async #sumOf(
    quota: DeepReadonly<KubeObject>,
    { cluster, namespace }: Scope,
    resource: GroupResource,
    evaluator: QuotaEvaluator,
  ): Promise<Map<string, Quantity>> {
    const { informers, client, clock } = this.#modules;
    const sum = new Map<string, Quantity>();
    // The version of the list is that of the first object; metadata is listed in any version.
    const [stored] = informers.metadata.list({ cluster, namespace, resource: { ...resource, version: '' } });
    if (stored === undefined) return sum;
    const requirements = scopeRequirements(quota);
    const { items } = await client.list(stored.resource, { cluster, namespace });
    for (const object of items) {
      if (!requirements.every((requirement) => evaluator.matches(requirement, object))) continue;
      for (const [name, amount] of evaluator.usage(object, clock.now()))
        sum.set(name, (sum.get(name) ?? Quantity.zero).add(amount));
    }
    return sum;
  }

  #count({ cluster, namespace }: Scope, resource: GroupResource): number {
    return this.#modules.informers.metadata.count({ cluster, namespace, resource });
  }
}

/** Whether quotas count more of the resource than the number of objects. */
export const isContentRead = ({ group, resource }: GroupResource): boolean =>
  quotaEvaluatorOf(group, resource).readsContent;

import { pathAnnotation, type DeepReadonly, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  effectiveLimits,
  limitAnnotations,
  type DefaultLimits,
  type EffectiveLimits,
  type LimitName,
} from '@multiplane/apis';
import { rootCluster } from '../logical-cluster-index.ts';

interface Modules {
  readonly clusters: { object(cluster: LogicalClusterName): DeepReadonly<KubeObject> | undefined };
}

/** What a limit limits, in error texts. kcp's clients look for that of objects. */
const descriptions: Readonly<Record<LimitName, string>> = {
  objects: 'total object count limit',
  bytes: 'stored bytes limit',
  definitions: 'API definition count limit',
  schemaBytes: 'API definition bytes limit',
  watches: 'open watches limit',
  connections: 'connections limit',
  requestsInFlight: 'open requests limit',
  requestsPerSecond: 'requests per second limit',
  celCostPerSecond: 'CEL cost per second limit',
};

/** The limits in force in the logical clusters of this shard, from their LogicalCluster objects and the shard's defaults. */
export class WorkspaceLimits {
  readonly #defaults: DefaultLimits;
  readonly #modules: Modules;
  /** By the LogicalCluster object, which is a new one after each change. */
  readonly #limits = new WeakMap<object, EffectiveLimits>();
  /** Of system clusters, which have no LogicalCluster. */
  readonly #unlimited: EffectiveLimits;

  constructor(options: { readonly defaults: DefaultLimits }, modules: Modules) {
    this.#defaults = options.defaults;
    this.#modules = modules;
    this.#unlimited = effectiveLimits(undefined, options.defaults, true);
  }

  of(cluster: LogicalClusterName): EffectiveLimits {
    const object = this.#modules.clusters.object(cluster);
    if (object === undefined) return this.#unlimited;
    let limits = this.#limits.get(object);
    if (limits === undefined) {
      const isExempt = cluster === rootCluster || cluster.startsWith('system:');
      limits = effectiveLimits(object.metadata.annotations, this.#defaults, isExempt);
      this.#limits.set(object, limits);
    }
    return limits;
  }

  /** Why a request exceeds a limit: the limit, the figures, and who can raise it. */
  exceeded(
    cluster: LogicalClusterName,
    name: LimitName,
    amounts: { readonly used: number; readonly requested: number },
  ): string {
    const { max, by, isDefault } = this.of(cluster)[name];
    const path = this.#modules.clusters.object(cluster)?.metadata.annotations?.[pathAnnotation] ?? cluster;
    const annotation = limitAnnotations[name];
    const figures = `used: ${amounts.used}, requested: ${amounts.requested}, limited: ${max}`;
    const reached = `exceeded limit: workspace "${path}" has reached its ${descriptions[name]}, ${figures}`;
    if (by !== undefined)
      return `${reached}; an administrator of workspace "${by}" can raise it by the annotation ${annotation} of the Workspace`;
    return isDefault && path.includes(':')
      ? `${reached}; an administrator of workspace "${path.slice(0, path.indexOf(':'))}" can raise this default by the annotation ${annotation} of the Workspace`
      : `${reached}; an administrator of the installation can raise it by the annotation ${annotation} of the LogicalCluster`;
  }
}

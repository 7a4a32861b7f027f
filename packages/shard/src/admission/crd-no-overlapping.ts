import { isStatusError, quote, type JsonObject, type LogicalClusterName } from '@multiplane/apimachinery';
import { admissionForbidden, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import { type ResourceDefinition, lockName, type ResourceLocks } from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';

export interface CrdNoOverlappingModules {
  /** Updates the resource name locks of a logical cluster in one write. */
  readonly changeLocks: (cluster: LogicalClusterName, edit: (locks: ResourceLocks) => void) => Promise<void>;
  readonly clock: Clock;
}

/** Expiry of a lock whose CustomResourceDefinition was not created after all. */
const lockMs = 60_000;

/**
 * Rejects CustomResourceDefinitions with the name of a bound resource (kcp `pkg/admission/crdnooverlappinggvr`). Off by
 * default; then both may exist, and the older one is served. The plugin locks the name on the LogicalCluster before the CRD is
 * stored, so that of a concurrent CRD and APIBinding exactly one succeeds.
 */
export class CrdNoOverlapping implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/CRDNoOverlappingGVR';
  readonly #modules: CrdNoOverlappingModules;
  constructor(modules: CrdNoOverlappingModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === 'apiextensions.k8s.io' && resource === 'customresourcedefinitions';
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { definition, object, cluster, dryRun } = attributes;
    if (definition.group !== 'apiextensions.k8s.io' || definition.resource !== 'customresourcedefinitions') return;
    // System logical clusters have no LogicalCluster object to hold locks.
    if (object === undefined || cluster.startsWith('system:')) return;
    const { group = '', names } = (object['spec'] ?? {}) as JsonObject & {
      group?: string;
      names?: { plural?: string };
    };
    const name = lockName({ group, resource: names?.plural ?? '' });
    const { changeLocks, clock } = this.#modules;
    let owner: string | undefined;
    try {
      await changeLocks(cluster, (locks) => {
        const lock = locks.get(name);
        owner = lock?.n;
        if (owner !== undefined || lock?.c === true || dryRun) return;
        locks.set(name, { c: true, e: new Date(clock.now() + lockMs).toISOString().replace(/\.\d+Z$/, 'Z') });
      });
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return;
      const why = error instanceof Error ? error.message : String(error);
      throw admissionForbidden(
        attributes,
        `failed to lock resources ${name} in logical cluster ${quote(cluster)}: ${why}`,
      );
    }
    if (owner !== undefined)
      throw admissionForbidden(attributes, `cannot create because resource is bound by APIBinding ${quote(owner)}`);
  }
}

import { statusErrors, type DeepReadonly } from '@multiplane/apimachinery';
import type { AdmissionAttributes, AdmissionPlugin } from '@multiplane/apiserver';
import { logicalClusterFinalizer, logicalClusters, type LogicalCluster } from '@multiplane/controllers';
import { isPrivileged } from './workspace-admission.ts';

/** Order of the phases for those who are not privileged; everything else counts as 0 (C6.9). */
const ordinal: Readonly<Record<string, number>> = { '': 1, Scheduling: 2, Initializing: 3, Ready: 4 };

/**
 * LogicalClusters (C6.9) are made and unmade by the system: a workspace's owner may neither create nor delete its own
 * behind the back of the Workspace, nor take the finalizer that guards its content.
 */
export class LogicalClusterAdmission implements AdmissionPlugin {
  readonly name = 'core.kcp.io/LogicalCluster';

  handles(): boolean {
    return true;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    const object = attributes.object;
    if (!isLogicalCluster(attributes) || object === undefined || object.metadata.deletionTimestamp !== undefined)
      return;
    const finalizers = object.metadata.finalizers ?? [];
    if (!finalizers.includes(logicalClusterFinalizer))
      object.metadata.finalizers = [...finalizers, logicalClusterFinalizer];
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!isLogicalCluster(attributes) || isPrivileged(attributes.user)) return;
    const old: DeepReadonly<LogicalCluster & { spec?: { directlyDeletable?: boolean } }> | undefined =
      attributes.oldObject;
    const forbid = (why: string): Error =>
      statusErrors.forbidden(attributes.definition, attributes.name === '' ? 'Unknown' : attributes.name, why);
    if (attributes.operation === 'CREATE') throw forbid('LogicalCluster cannot be created');
    if (attributes.operation === 'DELETE') {
      if (old?.spec?.directlyDeletable !== true) throw forbid('LogicalCluster cannot be deleted');
      return;
    }
    const object = attributes.object as LogicalCluster;
    if (JSON.stringify(object.spec?.createdBy) !== JSON.stringify(old?.spec?.createdBy))
      throw forbid('spec.createdBy: field is immutable');
    if (JSON.stringify(object.spec?.initializers) !== JSON.stringify(old?.spec?.initializers))
      throw forbid('spec.initializers is immutable');
    const from = old?.status?.phase ?? '';
    const to = object.status?.phase ?? '';
    if (from !== to && (ordinal[to] ?? 0) < (ordinal[from] ?? 0))
      throw forbid(`cannot transition from "${from}" to "${to}"`);
    const had = old?.metadata.finalizers ?? [];
    if (
      had.includes(logicalClusterFinalizer) &&
      !(object.metadata.finalizers ?? []).includes(logicalClusterFinalizer)
    ) {
      throw forbid(`removing the finalizer ${logicalClusterFinalizer} is forbidden`);
    }
  }
}

const isLogicalCluster = ({ definition }: AdmissionAttributes): boolean =>
  definition.group === logicalClusters.group && definition.resource === logicalClusters.resource;

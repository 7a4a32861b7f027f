import {
  deepEqual,
  fieldErrors,
  fieldErrorText,
  pathAnnotation,
  statusErrors,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { type ResourceDefinition, resourceBindingsAnnotation } from '@multiplane/apis';
import type { AdmissionAttributes, AdmissionPlugin } from '@multiplane/apiserver';
import {
  isLifecycleLabel,
  logicalClusterFinalizer,
  logicalClusters,
  ownerAnnotation,
  requiredGroupsAnnotation,
  shardAnnotation,
  typeAnnotation,
  type LogicalCluster,
} from '@multiplane/controllers';
import { isPrivileged } from './workspace-admission.ts';

/** Order of the phases that unprivileged users cannot go back in; other phases count as 0, as in kcp. */
const ordinal: Readonly<Record<string, number>> = { '': 1, Scheduling: 2, Initializing: 3, Ready: 4 };
/** Set by the system: path, type, shard, owner, required groups and resource name locks. */
const systemAnnotations = [
  pathAnnotation,
  typeAnnotation,
  shardAnnotation,
  ownerAnnotation,
  requiredGroupsAnnotation,
  resourceBindingsAnnotation,
] as const;

/**
 * Admits LogicalClusters (kcp `pkg/admission/logicalcluster/admission.go`). Only privileged users create or delete them: the
 * admin of a workspace must not delete it independently of its Workspace. The finalizer that guards its content is protected.
 * Unlike kcp, the plugin also protects owner references, terminators, and the labels and annotations that the system sets.
 */
export class LogicalClusterAdmission implements AdmissionPlugin {
  readonly name = 'core.kcp.io/LogicalCluster';

  handles(): boolean {
    return true;
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === logicalClusters.group && resource === logicalClusters.resource;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    if (!isLogicalCluster(attributes) || attributes.object === undefined) return;
    const object = attributes.object as LogicalCluster;
    beginInitialization(object, attributes.oldObject);
    if (!isPrivileged(attributes.user)) restoreLifecycleLabels(object, attributes.oldObject);
    if (object.metadata.deletionTimestamp !== undefined) return;
    const finalizers = object.metadata.finalizers ?? [];
    if (!finalizers.includes(logicalClusterFinalizer))
      object.metadata.finalizers = [...finalizers, logicalClusterFinalizer];
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!isLogicalCluster(attributes) || isPrivileged(attributes.user)) return;
    const old: DeepReadonly<LogicalCluster> | undefined = attributes.oldObject;
    const forbid = (why: string): Error =>
      statusErrors.forbidden(attributes.definition, attributes.name === '' ? 'Unknown' : attributes.name, why);
    if (attributes.operation === 'CREATE') throw forbid('LogicalCluster cannot be created');
    if (attributes.operation === 'DELETE') {
      if (old?.spec?.directlyDeletable !== true) throw forbid('LogicalCluster cannot be deleted');
      return;
    }
    const object = attributes.object as LogicalCluster;
    const problem = specProblem(object, old) ?? statusProblem(object, old) ?? metadataProblem(object, old);
    if (problem !== undefined) throw forbid(problem);
  }
}

/** Copies initializers and terminators from spec to status on the transition to Initializing. */
function beginInitialization(object: LogicalCluster, old: DeepReadonly<LogicalCluster> | undefined): void {
  if (old === undefined || object.status?.phase !== 'Initializing') return;
  if ((old.status?.phase ?? 'Scheduling') !== 'Scheduling') return;
  const { initializers, terminators } = object.spec ?? {};
  if (initializers !== undefined) object.status.initializers = [...initializers];
  if (terminators !== undefined) object.status.terminators = [...terminators];
}

/**
 * Restores the lifecycle labels that a client changed. With them, a tenant could make a logical cluster appear in the virtual
 * workspaces of any type's initializer or terminator. A rejection is not needed: the controller would restore them as well.
 */
function restoreLifecycleLabels({ metadata }: LogicalCluster, old: DeepReadonly<KubeObject> | undefined): void {
  const current = Object.entries(metadata.labels ?? {});
  const previous = Object.entries(old?.metadata.labels ?? {}).filter(([key]) => isLifecycleLabel(key));
  if (previous.length === 0 && !current.some(([key]) => isLifecycleLabel(key))) return;
  metadata.labels = Object.fromEntries([...current.filter(([key]) => !isLifecycleLabel(key)), ...previous]);
}

type Old = DeepReadonly<LogicalCluster> | undefined;
const same = (a: unknown, b: unknown): boolean => deepEqual((a ?? null) as Json, (b ?? null) as Json);

function specProblem({ spec }: LogicalCluster, old: Old): string | undefined {
  if (!same(spec?.createdBy, old?.spec?.createdBy)) {
    // In the order of the Go struct.
    const { username, groups, uid, extra } = spec?.createdBy ?? {};
    const shown = spec?.createdBy === undefined ? null : ({ username, groups, uid, extra } as JsonObject);
    return fieldErrorText(fieldErrors.invalid('spec.createdBy', shown, 'field is immutable'));
  }
  for (const field of ['initializers', 'terminators', 'owner'] as const)
    if (!same(spec?.[field], old?.spec?.[field])) return `spec.${field} is immutable`;
  if ((spec?.directlyDeletable ?? false) !== (old?.spec?.directlyDeletable ?? false))
    return 'spec.directlyDeletable can only be changed by system privileged users';
  return undefined;
}

function statusProblem({ spec, status }: LogicalCluster, old: Old): string | undefined {
  const from = old?.status?.phase ?? '';
  const to = status?.phase ?? '';
  const had = old?.status?.initializers ?? [];
  const has = status?.initializers ?? [];
  const begins = to === 'Initializing' && (ordinal[from] ?? 0) < (ordinal['Initializing'] as number);
  if (begins && !same(has, spec?.initializers ?? [])) return 'status.initializers do not equal spec.initializers';
  if (!begins && from === 'Initializing' && has.some((id) => !had.includes(id)))
    return 'status.initializers must not grow';
  if (from !== '' && from !== 'Scheduling' && from !== 'Initializing' && !same(had, has))
    return 'status.initializers is immutable after initialization';
  if (from === 'Initializing' && to !== from && has.length > 0) return 'status.initializers is not empty';
  if (from !== to && (ordinal[to] ?? 0) < (ordinal[from] ?? 0)) return `cannot transition from "${from}" to "${to}"`;
  if (!begins && !same(status?.terminators, old?.status?.terminators))
    return 'status.terminators can only be changed by system privileged users';
  return undefined;
}

function metadataProblem({ metadata }: LogicalCluster, old: Old): string | undefined {
  for (const name of systemAnnotations)
    if (metadata.annotations?.[name] !== old?.metadata.annotations?.[name])
      return `annotation ${name} can only be changed by system privileged users`;
  // With an owner reference, an admin without the right to delete could let the garbage collector delete (CVE-2025-5187).
  if (!same(metadata.ownerReferences, old?.metadata.ownerReferences))
    return 'metadata.ownerReferences can only be changed by system privileged users';
  const had = old?.metadata.finalizers ?? [];
  return had.includes(logicalClusterFinalizer) && !(metadata.finalizers ?? []).includes(logicalClusterFinalizer)
    ? `removing the finalizer ${logicalClusterFinalizer} is forbidden`
    : undefined;
}

const isLogicalCluster = ({ definition }: AdmissionAttributes): boolean =>
  definition.group === logicalClusters.group && definition.resource === logicalClusters.resource;

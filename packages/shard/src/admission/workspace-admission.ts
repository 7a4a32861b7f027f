import {
  encodeJson,
  isJsonObject,
  mastersGroup,
  statusErrors,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { userInfoObject, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import {
  chosenClusterAnnotation,
  ownerAnnotation,
  requiredGroupsAnnotation,
  shardAnnotation,
  shardHashAnnotation,
  workspaceFinalizer,
  workspaces,
  type Workspace,
} from '@multiplane/controllers';

const privilegedGroups = new Set([
  mastersGroup,
  'system:kcp:logical-cluster-admin',
  'system:kcp:external-logical-cluster-admin',
  'system:kcp:tenancy:workspace-bootstrapper',
]);

/** Record the scheduling of a workspace: its shard, and the name of its logical cluster. */
const schedulingAnnotations = [chosenClusterAnnotation, shardAnnotation, shardHashAnnotation] as const;
/** Set by the system; the LogicalCluster is created from them. */
const systemAnnotations = [ownerAnnotation, requiredGroupsAnnotation, ...schedulingAnnotations] as const;

/** Whether the user may write fields that otherwise only the system writes. */
export function isPrivileged(user: UserInfo): boolean {
  return user.groups.some((group) => privilegedGroups.has(group));
}

/**
 * Admits Workspaces (kcp `pkg/admission/workspace/admission.go`). It records the creator, and protects the fields and
 * annotations that the scheduler sets. Otherwise a tenant could point a workspace at another tenant's logical cluster, have a
 * logical cluster created under a trusted name (of a system cluster, a user's home, a deleted tenant), or change the recorded
 * creator before scheduling. kcp does not protect the annotations.
 * Values that a client sets are dropped in the mutating stage; a tenant's webhook that sets them later gets an error.
 */
export class WorkspaceAdmission implements AdmissionPlugin {
  readonly name = 'tenancy.kcp.io/Workspace';
  readonly #modules: {
    readonly logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<KubeObject> | undefined;
  };
  constructor(modules: {
    readonly logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<KubeObject> | undefined;
  }) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === workspaces.group && resource === workspaces.resource;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    if (!isWorkspace(attributes)) return;
    const { metadata, spec } = attributes.object as Workspace;
    convertAsKcp(spec);
    if (attributes.operation === 'UPDATE') {
      if (!isPrivileged(attributes.user)) restoreSystemMetadata(attributes);
      return;
    }
    if (attributes.subresource !== '') return;
    const privileged = isPrivileged(attributes.user);
    const annotations = { ...metadata.annotations };
    if (!privileged) {
      for (const name of schedulingAnnotations) delete annotations[name];
      annotations[ownerAnnotation] = this.#owner(attributes);
    }
    if (!privileged || annotations[requiredGroupsAnnotation] === undefined) {
      delete annotations[requiredGroupsAnnotation];
      const required = this.#requiredGroups(attributes);
      if (required !== undefined) annotations[requiredGroupsAnnotation] = required;
    }
    if (Object.keys(annotations).length > 0) metadata.annotations = annotations;
    else delete metadata.annotations;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!isWorkspace(attributes)) return;
    const workspace = attributes.object as Workspace;
    const old: DeepReadonly<Workspace> | undefined = attributes.oldObject;
    const privileged = isPrivileged(attributes.user);
    const violation =
      old === undefined
        ? this.#createViolation(attributes, workspace, privileged)
        : ((old.spec?.mount === undefined || old.spec.cluster !== undefined
            ? updateViolation(workspace, old, privileged)
            : mountUpdateViolation(workspace, old, privileged)) ??
          (privileged ? undefined : metadataViolation(workspace, old)));
    if (violation !== undefined) throw this.#forbidden(attributes, violation);
  }

  #createViolation(attributes: AdmissionAttributes, workspace: Workspace, privileged: boolean): string | undefined {
    const { spec, metadata } = workspace;
    if (!privileged) {
      if (spec?.cluster !== undefined) return 'spec.Cluster can only be set by system privileged users';
      if (spec?.URL !== undefined) return 'spec.URL can only be set by system privileged users';
      // A tenant's mutating webhook runs between the two stages.
      const place = schedulingAnnotations.find((name) => metadata.annotations?.[name] !== undefined);
      if (place !== undefined) return onlyForSystem(place);
      const owner = this.#owner(attributes);
      if (metadata.annotations?.[ownerAnnotation] !== owner)
        return `expected user annotation ${ownerAnnotation}=${owner}`;
      const required = this.#requiredGroups(attributes);
      if (metadata.annotations?.[requiredGroupsAnnotation] !== required)
        return `missing required groups annotation ${requiredGroupsAnnotation}=${required ?? ''}`;
    }
    if (spec?.mount === undefined) return undefined;
    return incompleteMount(spec.mount) ?? (!privileged && spec.type !== undefined ? mountWithType : undefined);
  }

  #owner({ user }: AdmissionAttributes): string {
    return JSON.stringify(userInfoObject(user));
  }

  /** Child workspaces inherit the required groups of their parent. */
  #requiredGroups({ cluster }: AdmissionAttributes): string | undefined {
    return this.#modules.logicalCluster(cluster)?.metadata.annotations?.[requiredGroupsAnnotation];
  }

  #forbidden(attributes: AdmissionAttributes, why: string): Error {
    return statusErrors.forbidden(
      attributes.definition,
      attributes.name !== '' ? attributes.name : nameOf(attributes.object),
      why,
    );
  }
}

const mountWithType = 'spec.type cannot be set for mounted workspaces';
const isEmpty = (text: string | undefined): boolean => text === undefined || text === '';
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/**
 * What kcp's conversion to its Go type changes: required texts that are absent become empty, so that schema validation checks the
 * pattern of a type's name and `validate` reports the fields of a mount; optional texts that are empty become absent. Values of
 * wrong types are left to schema validation.
 */
function convertAsKcp(spec: Workspace['spec']): void {
  if (!isJsonObject(spec)) return;
  const { type, mount } = spec;
  if (isJsonObject(mount) && (mount.ref === undefined || isJsonObject(mount.ref)))
    mount.ref = { apiVersion: '', kind: '', name: '', ...mount.ref };
  if (isJsonObject(type) && type.name === undefined) spec.type = { ...type, name: '' };
  if (spec.cluster === '') delete spec.cluster;
  if (spec.URL === '') delete spec.URL;
}

function incompleteMount(mount: NonNullable<Workspace['spec']>['mount']): string | undefined {
  // A value that is not an object is left to schema validation.
  if (!isJsonObject(mount)) return undefined;
  const missing = (['kind', 'name', 'apiVersion'] as const).find((field) => isEmpty(mount?.ref?.[field]));
  return missing === undefined ? undefined : `spec.mount.${missing} must be set`;
}

/** Without the finalizer, or the recorded name, deleting a Workspace would leave its logical cluster behind. */
function restoreSystemMetadata({ object, oldObject }: AdmissionAttributes): void {
  if (object === undefined || oldObject === undefined) return;
  const { metadata } = object;
  const before = oldObject.metadata.annotations ?? {};
  if (changedAnnotation(metadata.annotations, before) !== undefined) {
    const annotations = { ...metadata.annotations };
    for (const name of systemAnnotations) {
      const value = before[name];
      if (value === undefined) delete annotations[name];
      else annotations[name] = value;
    }
    metadata.annotations = annotations;
  }
  if (metadata.deletionTimestamp === undefined && losesFinalizer(object, oldObject))
    metadata.finalizers = [...(metadata.finalizers ?? []), workspaceFinalizer];
}

/** Checks what {@link restoreSystemMetadata} restored: a tenant's mutating webhook runs in between. */
function metadataViolation(object: Workspace, old: DeepReadonly<Workspace>): string | undefined {
  const changed = changedAnnotation(object.metadata.annotations, old.metadata.annotations);
  if (changed !== undefined) return onlyForSystem(changed);
  return losesFinalizer(object, old) ? `removing the finalizer ${workspaceFinalizer} is forbidden` : undefined;
}

type Texts = Readonly<Record<string, string>>;
const changedAnnotation = (now: Texts = {}, before: Texts = {}): string | undefined =>
  systemAnnotations.find((name) => now[name] !== before[name]);
const losesFinalizer = ({ metadata }: DeepReadonly<KubeObject>, old: DeepReadonly<KubeObject>): boolean =>
  (old.metadata.finalizers ?? []).includes(workspaceFinalizer) &&
  !(metadata.finalizers ?? []).includes(workspaceFinalizer);
const onlyForSystem = (annotation: string): string =>
  `annotation ${annotation} can only be changed by system privileged users`;

function updateViolation(
  { spec, status }: Workspace,
  old: DeepReadonly<Workspace>,
  privileged: boolean,
): string | undefined {
  if (old.spec?.cluster !== undefined && spec?.cluster === undefined) return 'spec.cluster cannot be unset';
  if (!privileged && spec?.cluster !== old.spec?.cluster)
    return 'spec.cluster can only be changed by system privileged users';
  if (!privileged && spec?.URL !== old.spec?.URL) return 'spec.URL can only be changed by system privileged users';
  if (!same(spec?.type, old.spec?.type))
    return `spec.type: Invalid value: ${encodeJson(spec?.type ?? null)}: field is immutable`;
  // The mount would not be used, and its validation would block all later updates of the workspace.
  if (!privileged && spec?.mount !== undefined) return 'spec.mount can only be set when the workspace is created';
  if (status?.phase !== 'Ready' || old.status?.phase === 'Ready') return undefined;
  if (spec?.cluster === undefined) return 'spec.cluster must be set for phase Ready';
  return spec.URL === undefined ? 'spec.URL must be set for phase Ready' : undefined;
}

function mountUpdateViolation(
  { spec }: Workspace,
  old: DeepReadonly<Workspace>,
  privileged: boolean,
): string | undefined {
  const [now, before] = [spec?.mount?.ref, old.spec?.mount?.ref];
  for (const field of ['kind', 'name', 'namespace', 'apiVersion'] as const)
    if (now?.[field] !== before?.[field]) return `spec.mount.${field} is immutable`;
  if (!privileged && spec?.type !== undefined) return mountWithType;
  return same(spec?.type, old.spec?.type) ? undefined : 'spec.type is immutable';
}

const isWorkspace = ({ definition }: AdmissionAttributes): boolean =>
  definition.group === workspaces.group && definition.resource === workspaces.resource;
const nameOf = (object: KubeObject | undefined): string =>
  object?.metadata.name ?? object?.metadata.generateName ?? 'Unknown';

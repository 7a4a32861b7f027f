import {
  mastersGroup,
  statusErrors,
  type DeepReadonly,
  type KubeObject,
  type UserInfo,
} from '@multiplane/apimachinery';
import { userInfoObject, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import { ownerAnnotation, workspaces, type Workspace } from '@multiplane/controllers';

const privilegedGroups = new Set([
  mastersGroup,
  'system:kcp:logical-cluster-admin',
  'system:kcp:external-logical-cluster-admin',
  'system:kcp:tenancy:workspace-bootstrapper',
]);

/** Members may write what otherwise only the system writes (C7.2). */
export function isPrivileged(user: UserInfo): boolean {
  return user.groups.some((group) => privilegedGroups.has(group));
}

/**
 * Workspaces (C6.4): who created one is written down on it, and where it lives is the system's business alone. Without
 * this a tenant could point a workspace of theirs at a logical cluster of somebody else.
 */
export class WorkspaceAdmission implements AdmissionPlugin {
  readonly name = 'tenancy.kcp.io/Workspace';

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    if (!isWorkspace(attributes) || attributes.operation !== 'CREATE' || attributes.subresource !== '') return;
    const workspace = attributes.object as Workspace;
    if (!isPrivileged(attributes.user)) {
      workspace.metadata.annotations = {
        ...workspace.metadata.annotations,
        [ownerAnnotation]: JSON.stringify(userInfoObject(attributes.user)),
      };
    }
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!isWorkspace(attributes)) return;
    const workspace = attributes.object as Workspace;
    const old: DeepReadonly<Workspace> | undefined = attributes.oldObject;
    const privileged = isPrivileged(attributes.user);
    if (old === undefined) {
      if (privileged) return;
      if (workspace.spec?.cluster !== undefined)
        throw this.#forbidden(attributes, 'spec.Cluster can only be set by system privileged users');
      if (workspace.spec?.URL !== undefined)
        throw this.#forbidden(attributes, 'spec.URL can only be set by system privileged users');
      return;
    }
    if (old.spec?.cluster !== undefined && workspace.spec?.cluster === undefined)
      throw this.#forbidden(attributes, 'spec.cluster cannot be unset');
    if (!privileged && workspace.spec?.cluster !== old.spec?.cluster)
      throw this.#forbidden(attributes, 'spec.cluster can only be changed by system privileged users');
    if (!privileged && workspace.spec?.URL !== old.spec?.URL)
      throw this.#forbidden(attributes, 'spec.URL can only be changed by system privileged users');
    if (JSON.stringify(workspace.spec?.type) !== JSON.stringify(old.spec?.type))
      throw this.#forbidden(attributes, 'spec.type is immutable');
    if (workspace.status?.phase === 'Ready' && old.status?.phase !== 'Ready') {
      if (workspace.spec?.cluster === undefined)
        throw this.#forbidden(attributes, 'spec.cluster must be set for phase Ready');
      if (workspace.spec.URL === undefined) throw this.#forbidden(attributes, 'spec.URL must be set for phase Ready');
    }
  }

  #forbidden(attributes: AdmissionAttributes, why: string): Error {
    return statusErrors.forbidden(
      attributes.definition,
      attributes.name !== '' ? attributes.name : nameOf(attributes.object),
      why,
    );
  }
}

const isWorkspace = ({ definition }: AdmissionAttributes): boolean =>
  definition.group === workspaces.group && definition.resource === workspaces.resource;
const nameOf = (object: KubeObject | undefined): string =>
  object?.metadata.name ?? object?.metadata.generateName ?? 'Unknown';

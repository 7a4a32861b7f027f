import {
  fieldErrors,
  statusErrors,
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import {
  appliedLimitsAnnotation,
  inheritedLimitsAnnotation,
  limitAnnotations,
  limitNames,
  parseLimit,
  type ResourceDefinition,
} from '@multiplane/apis';
import { admissionForbidden, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import { logicalClusters, workspaces } from '@multiplane/controllers';
import type { Authorizer } from '@multiplane/generic-server';
import { isPrivileged } from '../admission/workspace-admission.ts';
import { kcpAdminGroup } from '../authentication/admin-users.ts';

/** The verb on `workspaces` that setting a limit requires. */
const limitVerb = 'limit';

/**
 * Guards the annotations with limits. On a Workspace they require the verb `limit` on `workspaces`, so that a user who may
 * only create workspaces cannot give its own more. On a LogicalCluster, which the administrators of the workspace itself may
 * update, only the administrators of the installation set them. What the system records there is restored.
 */
export class LimitAnnotations implements AdmissionPlugin {
  readonly name = 'limits.multiplane.dev/LimitAnnotations';
  readonly #modules: { readonly authorizer: Authorizer };

  constructor(modules: { readonly authorizer: Authorizer }) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return (
      (group === logicalClusters.group && resource === logicalClusters.resource) ||
      (group === workspaces.group && resource === workspaces.resource)
    );
  }

  admit({ object, oldObject, user }: AdmissionAttributes): undefined {
    if (object !== undefined && !isPrivileged(user)) restore(object, oldObject);
    return undefined;
  }

  validate(attributes: AdmissionAttributes): Promise<void> | undefined {
    const { object, oldObject, user, definition } = attributes;
    if (object === undefined) return undefined;
    const [now, before] = [object.metadata.annotations, oldObject?.metadata.annotations];
    const changed = limitNames.filter((name) => now?.[limitAnnotations[name]] !== before?.[limitAnnotations[name]]);
    // A tenant's mutating webhook runs after the annotations were restored.
    const internal = isPrivileged(user) ? undefined : recorded.find((key) => now?.[key] !== before?.[key]);
    if (internal !== undefined)
      throw admissionForbidden(attributes, `annotation ${internal} can only be changed by system privileged users`);
    checkNames(attributes, object, before);
    if (changed.length === 0) return undefined;
    checkValues(attributes, object, changed);
    if (isPrivileged(user)) return undefined;
    const annotation = limitAnnotations[changed[0] as (typeof changed)[0]];
    if (definition.resource === workspaces.resource) return this.#requireVerb(attributes, annotation);
    if (user.groups.includes(kcpAdminGroup)) return undefined;
    throw admissionForbidden(
      attributes,
      `annotation ${annotation} can only be changed by administrators of the installation; an administrator of the parent workspace can set it on the Workspace`,
    );
  }

  async #requireVerb(attributes: AdmissionAttributes, annotation: string): Promise<void> {
    if (await this.#isAllowed(attributes.user, attributes.cluster, attributes.object?.metadata.name ?? '')) return;
    throw admissionForbidden(
      attributes,
      `unable to change annotation ${annotation}: missing verb='${limitVerb}' permission on workspaces`,
    );
  }

  async #isAllowed(user: UserInfo, cluster: LogicalClusterName, name: string): Promise<boolean> {
    const { decision } = await this.#modules.authorizer.authorize({
      user,
      cluster,
      verb: limitVerb,
      isResourceRequest: true,
      group: workspaces.group,
      version: workspaces.version,
      resource: workspaces.resource,
      subresource: '',
      namespace: '',
      name,
      path: '',
    });
    return decision === 'allow';
  }
}

/** Written by the system, on LogicalClusters and Workspaces. */
const recorded = [inheritedLimitsAnnotation, appliedLimitsAnnotation] as const;

function restore({ metadata }: KubeObject, old: DeepReadonly<KubeObject> | undefined): void {
  const before = old?.metadata.annotations;
  if (recorded.every((key) => metadata.annotations?.[key] === before?.[key])) return;
  const annotations = { ...metadata.annotations };
  for (const key of recorded) {
    const value = before?.[key];
    if (value === undefined) delete annotations[key];
    else annotations[key] = value;
  }
  metadata.annotations = annotations;
}

const prefix = 'limits.multiplane.dev/';
const knownAnnotations: readonly string[] = Object.values(limitAnnotations).filter((name) => name.startsWith(prefix));

/** Throws 422 for a new annotation that looks like a limit and is none: a limit with a typing error would never hold. */
function checkNames(
  { definition }: AdmissionAttributes,
  { kind, metadata }: KubeObject,
  before: DeepReadonly<KubeObject['metadata']['annotations']>,
): void {
  const unknown = Object.keys(metadata.annotations ?? {}).filter(
    (name) => name.startsWith(prefix) && !knownAnnotations.includes(name) && before?.[name] === undefined,
  );
  if (unknown.length === 0) return;
  const errors = unknown.map((name) => fieldErrors.notSupported('metadata.annotations', name, knownAnnotations));
  throw statusErrors.invalid({ group: definition.group, kind }, metadata.name ?? '', errors);
}

/** Throws 422 for values that are no limits. */
function checkValues(
  { definition }: AdmissionAttributes,
  { kind, metadata }: KubeObject,
  changed: readonly (keyof typeof limitAnnotations)[],
): void {
  const errors = changed.flatMap((name) => {
    const annotation = limitAnnotations[name];
    const text = metadata.annotations?.[annotation];
    if (text === undefined) return [];
    try {
      parseLimit(name, text);
      return [];
    } catch (error) {
      return [fieldErrors.invalid(`metadata.annotations[${annotation}]`, text, (error as Error).message)];
    }
  });
  if (errors.length > 0) throw statusErrors.invalid({ group: definition.group, kind }, metadata.name ?? '', errors);
}

import {
  type FieldError,
  type KubeObject,
  type LogicalClusterName,
  type UserInfo,
  FieldPath,
  apiVersionOf,
  fieldErrors,
  mastersGroup,
  parseApiVersion,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { InformerSource } from '@multiplane/client';
import type { Authorizer } from '@multiplane/generic-server';
import type { ResourceResolver } from '../../registry/definitions/resource-resolver.ts';
import { objectOf, textOf } from '../matching/read-fields.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../plugin.ts';
import type { ParamKind } from './policy-hook.ts';

const policyResources: Readonly<Record<string, string>> = {
  validatingadmissionpolicybindings: 'validatingadmissionpolicies',
  mutatingadmissionpolicybindings: 'mutatingadmissionpolicies',
};
const spec = FieldPath.of('spec');

export interface PolicyPermissionsModules {
  readonly authorizer: Authorizer;
  readonly resolver: Pick<ResourceResolver, 'list'>;
  readonly informers: InformerSource;
}

interface AccessCheck {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
}

/**
 * Policies read their parameters with the server's rights, so creating a policy requires read access to them: to all
 * objects of the kind for a policy, to the referenced ones for a binding. Reported as a field error
 * (pkg/registry/admissionregistration in Kubernetes).
 */
export class PolicyPermissions implements AdmissionPlugin {
  readonly name = 'PolicyPermissions';
  readonly #modules: PolicyPermissionsModules;

  constructor(modules: PolicyPermissionsModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group }: ResourceDefinition): boolean {
    return group === 'admissionregistration.k8s.io';
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { definition, subresource, object, user } = attributes;
    if (definition.group !== 'admissionregistration.k8s.io' || subresource !== '' || object === undefined) return;
    if (user.groups.includes(mastersGroup)) return;
    const { resource } = definition;
    let error: FieldError | undefined;
    if (Object.values(policyResources).includes(resource)) error = await this.#validatePolicy(attributes, object);
    else if (Object.hasOwn(policyResources, resource)) error = await this.#validateBinding(attributes, object);
    if (error !== undefined) throw statusErrors.invalid(definition, object.metadata.name ?? '', [error]);
  }

  async #validatePolicy(
    { cluster, user, oldObject }: AdmissionAttributes,
    object: KubeObject,
  ): Promise<FieldError | undefined> {
    const kind = paramKindOf(object);
    if (kind === undefined || isEqual(kind, paramKindOf(oldObject))) return undefined;
    if (await this.#allows(user, cluster, this.#accessCheckFor(cluster, kind))) return undefined;
    return fieldErrors.forbidden(
      spec.child('paramKind'),
      `user ${userText(user)} must have "get" permission on all objects of the referenced paramKind (kind=${kind.kind}, apiVersion=${kind.apiVersion})`,
    );
  }

  async #validateBinding(
    { cluster, user, definition, oldObject }: AdmissionAttributes,
    object: KubeObject,
  ): Promise<FieldError | undefined> {
    const ref = objectOf(objectOf(object, 'spec'), 'paramRef');
    if (ref === undefined) return undefined;
    const policyName = textOf(objectOf(object, 'spec'), 'policyName');
    const oldSpec = objectOf(oldObject, 'spec');
    if (textOf(oldSpec, 'policyName') === policyName && isEqual(ref, objectOf(oldSpec, 'paramRef'))) return undefined;
    const path = spec.child('paramRef');
    const policy = this.#modules.informers
      .informer({ ...definition, resource: policyResources[definition.resource] as string })
      .get({ cluster, namespace: '', name: policyName });
    const allResources = { verb: '*', group: '*', version: '*', resource: '*' };
    if (policy === undefined) {
      if (await this.#allows(user, cluster, allResources)) return undefined;
      return fieldErrors.forbidden(
        path,
        `unable to get policy ${policyName} to determine minimum required permissions and user ${userText(user)} does not have "get" permission for all groups, versions and resources`,
      );
    }
    const kind = paramKindOf(policy);
    if (kind === undefined) return undefined;
    const name = textOf(ref, 'name');
    const accessCheck = {
      ...this.#accessCheckFor(cluster, kind),
      verb: name === '' ? 'list' : 'get',
      namespace: textOf(ref, 'namespace'),
      name,
    };
    if (await this.#allows(user, cluster, accessCheck)) return undefined;
    return fieldErrors.forbidden(
      path,
      `user ${userText(user)} does not have "${accessCheck.verb}" permission on the object referenced by paramRef`,
    );
  }

  /** The permission to read all objects of a kind; of any kind if the kind is unknown. */
  #accessCheckFor(cluster: LogicalClusterName, { apiVersion, kind }: ParamKind): AccessCheck {
    const known = this.#modules.resolver
      .list(cluster)
      .find((candidate) => candidate.kind === kind && apiVersionOf(candidate) === apiVersion);
    const { group = '*', version = '*' } = parseApiVersion(apiVersion) ?? {};
    return { verb: 'get', group, version, resource: known?.resource ?? '*' };
  }

  async #allows(user: UserInfo, cluster: LogicalClusterName, accessCheck: AccessCheck): Promise<boolean> {
    const { decision } = await this.#modules.authorizer.authorize({
      namespace: '',
      name: '',
      ...accessCheck,
      user,
      cluster,
      isResourceRequest: true,
      subresource: '',
      path: '',
    });
    return decision === 'allow';
  }
}

function paramKindOf(object: unknown): ParamKind | undefined {
  const kind = objectOf(objectOf(object, 'spec'), 'paramKind');
  return kind === undefined ? undefined : { apiVersion: textOf(kind, 'apiVersion'), kind: textOf(kind, 'kind') };
}

const isEqual = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

/** The user as Go formats it. */
function userText({ name, uid, groups, extra }: UserInfo): string {
  const entries = Object.entries(extra)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, values]) => `${key}:[${values.join(' ')}]`);
  return `&{${name} ${uid} [${groups.join(' ')}] map[${entries.join(' ')}]}`;
}

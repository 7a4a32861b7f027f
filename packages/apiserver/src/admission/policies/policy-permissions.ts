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
import type { Authorizer } from '../../authorization/authorizer.ts';
import type { ResourceResolver } from '../../registry/resource-resolver.ts';
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

interface Question {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
}

/**
 * Policies read their parameters with the server's own rights, so whoever writes one must be able to read them, too (K6.6):
 * all objects of the kind for a policy, those that are named for a binding. Refused as a fault of the field.
 */
export class PolicyPermissions implements AdmissionPlugin {
  readonly name = 'PolicyPermissions';
  readonly #modules: PolicyPermissionsModules;

  constructor(_options: Record<string, never>, modules: PolicyPermissionsModules) {
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
    if (Object.values(policyResources).includes(resource)) error = await this.#ofPolicy(attributes, object);
    else if (Object.hasOwn(policyResources, resource)) error = await this.#ofBinding(attributes, object);
    if (error !== undefined) throw statusErrors.invalid(definition, object.metadata.name ?? '', [error]);
  }

  async #ofPolicy(
    { cluster, user, oldObject }: AdmissionAttributes,
    object: KubeObject,
  ): Promise<FieldError | undefined> {
    const kind = paramKindOf(object);
    if (kind === undefined || same(kind, paramKindOf(oldObject))) return undefined;
    if (await this.#allows(user, cluster, this.#questionOf(cluster, kind))) return undefined;
    return fieldErrors.forbidden(
      spec.child('paramKind'),
      `user ${userText(user)} must have "get" permission on all objects of the referenced paramKind (kind=${kind.kind}, apiVersion=${kind.apiVersion})`,
    );
  }

  async #ofBinding(
    { cluster, user, definition, oldObject }: AdmissionAttributes,
    object: KubeObject,
  ): Promise<FieldError | undefined> {
    const ref = objectOf(objectOf(object, 'spec'), 'paramRef');
    if (ref === undefined) return undefined;
    const policyName = textOf(objectOf(object, 'spec'), 'policyName');
    const oldSpec = objectOf(oldObject, 'spec');
    if (textOf(oldSpec, 'policyName') === policyName && same(ref, objectOf(oldSpec, 'paramRef'))) return undefined;
    const path = spec.child('paramRef');
    const policy = this.#modules.informers
      .informer({ ...definition, resource: policyResources[definition.resource] as string })
      .get({ cluster, namespace: '', name: policyName });
    const everything = { verb: '*', group: '*', version: '*', resource: '*' };
    if (policy === undefined) {
      if (await this.#allows(user, cluster, everything)) return undefined;
      return fieldErrors.forbidden(
        path,
        `unable to get policy ${policyName} to determine minimum required permissions and user ${userText(user)} does not have "get" permission for all groups, versions and resources`,
      );
    }
    const kind = paramKindOf(policy);
    if (kind === undefined) return undefined;
    const name = textOf(ref, 'name');
    const question = {
      ...this.#questionOf(cluster, kind),
      verb: name === '' ? 'list' : 'get',
      namespace: textOf(ref, 'namespace'),
      name,
    };
    if (await this.#allows(user, cluster, question)) return undefined;
    return fieldErrors.forbidden(
      path,
      `user ${userText(user)} does not have "${question.verb}" permission on the object referenced by paramRef`,
    );
  }

  /** May everything of a kind be read? Of a kind that is not known: everything at all. */
  #questionOf(cluster: LogicalClusterName, { apiVersion, kind }: ParamKind): Question {
    const known = this.#modules.resolver
      .list(cluster)
      .find((candidate) => candidate.kind === kind && apiVersionOf(candidate) === apiVersion);
    const { group = '*', version = '*' } = parseApiVersion(apiVersion) ?? {};
    return { verb: 'get', group, version, resource: known?.resource ?? '*' };
  }

  async #allows(user: UserInfo, cluster: LogicalClusterName, question: Question): Promise<boolean> {
    const { decision } = await this.#modules.authorizer.authorize({
      namespace: '',
      name: '',
      ...question,
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

const same = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

/** As Go prints who somebody is. */
function userText({ name, uid, groups, extra }: UserInfo): string {
  const entries = Object.entries(extra)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, values]) => `${key}:[${values.join(' ')}]`);
  return `&{${name} ${uid} [${groups.join(' ')}] map[${entries.join(' ')}]}`;
}

import {
  deepEqual,
  mastersGroup,
  quote,
  statusErrors,
  type DeepReadonly,
  type Json,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { AdmissionAttributes, AdmissionPlugin } from '../admission/plugin.ts';
import type { Authorizer } from './authorizer.ts';
import type { RbacAuthorizer } from './rbac-authorizer.ts';
import { ruleText, uncoveredRules, type PolicyRule } from './rbac-rules.ts';
import { rbacGroup, type BindingObject, type RoleObject } from './rbac-source.ts';

const roleResources = new Set(['roles', 'clusterroles']);
const bindingResources = new Set(['rolebindings', 'clusterrolebindings']);

/**
 * Nobody gives away more than they have (K7.3 "Escalation"): writing the rules of a role needs all of them or the verb
 * `escalate`, binding a role needs all its rules or the verb `bind`. Updates that leave rules, subjects and roleRef
 * alone are free. Members of `system:masters` are exempt.
 */
export class RbacEscalationCheck implements AdmissionPlugin {
  readonly name = 'RBACEscalationCheck';
  readonly #rbac: RbacAuthorizer;
  readonly #authorizer: Authorizer;
  constructor(modules: { readonly rbac: RbacAuthorizer; readonly authorizer: Authorizer }) {
    this.#rbac = modules.rbac;
    this.#authorizer = modules.authorizer;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group }: ResourceDefinition): boolean {
    return group === rbacGroup;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    const { definition, object, user } = attributes;
    if (definition.group !== rbacGroup || object === undefined || user.groups.includes(mastersGroup)) return;
    if (roleResources.has(definition.resource)) await this.#checkRole(attributes, object);
    else if (bindingResources.has(definition.resource)) await this.#checkBinding(attributes, object as BindingObject);
  }

  async #checkRole(attributes: AdmissionAttributes, role: RoleObject): Promise<void> {
    const old = attributes.oldObject;
    const aggregation = role['aggregationRule'] as Json | undefined;
    if (old !== undefined && same(role.rules, old.rules) && same(aggregation, old['aggregationRule'])) return;
    if (
      await this.#may(
        attributes,
        'escalate',
        attributes.definition.resource,
        role.metadata.name ?? '',
        attributes.namespace,
      )
    )
      return;
    if (aggregation !== undefined && !same(aggregation, old?.['aggregationRule'])) {
      const everything: PolicyRule[] = [
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
        { verbs: ['*'], nonResourceURLs: ['*'] },
      ];
      if (uncoveredRules(this.#owned(attributes).rules, everything).length > 0) {
        throw this.#forbidden(attributes, role, 'must have cluster-admin privileges to use the aggregationRule');
      }
    }
    this.#requireCovered(attributes, role, role.rules ?? []);
  }

  async #checkBinding(attributes: AdmissionAttributes, binding: BindingObject): Promise<void> {
    const old = attributes.oldObject as DeepReadonly<BindingObject> | undefined;
    if (old !== undefined && same(binding.subjects, old.subjects) && same(binding.roleRef, old.roleRef)) return;
    const { roleRef } = binding;
    const resource = roleRef.kind === 'Role' ? 'roles' : 'clusterroles';
    if (await this.#may(attributes, 'bind', resource, roleRef.name, attributes.namespace)) return;
    const rules = this.#rbac.roleRules(attributes.cluster, roleRef, attributes.namespace);
    if (rules === undefined) throw statusErrors.notFound(attributes.definition, roleRef.name);
    this.#requireCovered(attributes, binding, rules);
  }

  #owned(attributes: AdmissionAttributes): { rules: DeepReadonly<PolicyRule>[]; failures: string[] } {
    return this.#rbac.policyRules(attributes.user, attributes.cluster, attributes.namespace);
  }

  #requireCovered(
    attributes: AdmissionAttributes,
    object: RoleObject | BindingObject,
    wanted: readonly DeepReadonly<PolicyRule>[],
  ): void {
    const owned = this.#owned(attributes);
    const missing = uncoveredRules(owned.rules, wanted);
    if (missing.length === 0) return;
    const { name, groups } = attributes.user;
    const tail = owned.failures.length === 0 ? '' : `; resolution errors: [${owned.failures.join(', ')}]`;
    throw this.#forbidden(
      attributes,
      object,
      `user ${quote(name)} (groups=[${groups.map(quote).join(' ')}]) is attempting to grant RBAC permissions not currently held:\n${missing.map(ruleText).join('\n')}${tail}`,
    );
  }

  #forbidden(attributes: AdmissionAttributes, object: RoleObject | BindingObject, why: string): Error {
    return statusErrors.forbidden(
      attributes.definition,
      attributes.name !== '' ? attributes.name : (object.metadata.name ?? ''),
      why,
    );
  }

  async #may(
    attributes: AdmissionAttributes,
    verb: string,
    resource: string,
    name: string,
    namespace: string,
  ): Promise<boolean> {
    const result = await this.#authorizer.authorize(
      resourceRequest(attributes.user, attributes.cluster, verb, resource, name, namespace),
    );
    return result.decision === 'allow';
  }
}

function resourceRequest(
  user: UserInfo,
  cluster: LogicalClusterName,
  verb: string,
  resource: string,
  name: string,
  namespace: string,
) {
  return {
    user,
    cluster,
    verb,
    isResourceRequest: true,
    group: rbacGroup,
    version: '*',
    namespace,
    resource,
    subresource: '',
    name,
    path: '',
  };
}

/** Absent and empty are the same rules. */
function same(a: unknown, b: unknown): boolean {
  const plain = (value: unknown): Json =>
    value === undefined || (Array.isArray(value) && value.length === 0) ? null : (value as Json);
  return deepEqual(plain(a), plain(b));
}

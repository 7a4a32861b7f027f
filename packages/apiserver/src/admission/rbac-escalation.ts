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
import {
  type Authorizer,
  type BindingObject,
  type PolicyRule,
  type RbacAuthorizer,
  rbacGroup,
  type RoleObject,
  ruleText,
  uncoveredRules,
} from '@multiplane/generic-server';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

const roleResources = new Set(['roles', 'clusterroles']);
const bindingResources = new Set(['rolebindings', 'clusterrolebindings']);

/**
 * Privilege escalation check of RBAC (pkg/registry/rbac in Kubernetes): writing the rules of a role requires all of
 * these rules or the verb `escalate`; binding a role requires all of its rules or the verb `bind`. Updates that change
 * neither rules, subjects nor roleRef are allowed. Members of `system:masters` are exempt.
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
    if (old !== undefined && isEqual(role.rules, old.rules) && isEqual(aggregation, old['aggregationRule'])) return;
    if (
      await this.#isAllowed(
        attributes,
        'escalate',
        attributes.definition.resource,
        role.metadata.name ?? '',
        attributes.namespace,
      )
    )
      return;
    if (aggregation !== undefined && !isEqual(aggregation, old?.['aggregationRule'])) {
      const clusterAdminRules: PolicyRule[] = [
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
        { verbs: ['*'], nonResourceURLs: ['*'] },
      ];
      if (uncoveredRules(this.#rulesOf(attributes).rules, clusterAdminRules).length > 0) {
        throw this.#forbidden(attributes, role, 'must have cluster-admin privileges to use the aggregationRule');
      }
    }
    this.#requireCovered(attributes, role, role.rules ?? []);
  }

  async #checkBinding(attributes: AdmissionAttributes, binding: BindingObject): Promise<void> {
    const old = attributes.oldObject as DeepReadonly<BindingObject> | undefined;
    if (old !== undefined && isEqual(binding.subjects, old.subjects) && isEqual(binding.roleRef, old.roleRef)) return;
    const { roleRef } = binding;
    const resource = roleRef.kind === 'Role' ? 'roles' : 'clusterroles';
    if (await this.#isAllowed(attributes, 'bind', resource, roleRef.name, attributes.namespace)) return;
    const rules = this.#rbac.roleRules(attributes.cluster, roleRef, attributes.namespace);
    if (rules === undefined) throw statusErrors.notFound(attributes.definition, roleRef.name);
    this.#requireCovered(attributes, binding, rules);
  }

  #rulesOf(attributes: AdmissionAttributes): { rules: DeepReadonly<PolicyRule>[]; failures: string[] } {
    return this.#rbac.policyRules(attributes.user, attributes.cluster, attributes.namespace);
  }

  #requireCovered(
    attributes: AdmissionAttributes,
    object: RoleObject | BindingObject,
    wanted: readonly DeepReadonly<PolicyRule>[],
  ): void {
    const owned = this.#rulesOf(attributes);
    const missing = uncoveredRules(owned.rules, wanted);
    if (missing.length === 0) return;
    const { name, groups } = attributes.user;
    const failures = [...new Set(owned.failures)];
    const failure = failures.length > 1 ? `[${failures.join(', ')}]` : failures[0];
    const tail = failure === undefined ? '' : `; resolution errors: [${failure}]`;
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

  async #isAllowed(
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

/** Compares rules; absent and empty are equal. */
function isEqual(a: unknown, b: unknown): boolean {
  const plain = (value: unknown): Json =>
    value === undefined || (Array.isArray(value) && value.length === 0) ? null : (value as Json);
  return deepEqual(plain(a), plain(b));
}

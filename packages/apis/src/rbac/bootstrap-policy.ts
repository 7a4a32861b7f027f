import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { clusterRoleBindingFacts, clusterRoleFacts, roleBindingFacts, roleFacts } from './bootstrap-policy.data.ts';
import { kcpClusterRoleBindingFacts, kcpClusterRoleFacts } from './kcp-bootstrap-policy.ts';
import { rbacGroup } from './rules.ts';

export interface RoleFact {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Labels of the roles whose rules it collects; any of them. */
  readonly aggregates?: readonly Readonly<Record<string, string>>[];
  readonly rules?: readonly JsonObject[];
}
export interface BindingFact {
  readonly name: string;
  readonly namespace?: string;
  readonly role: JsonObject;
  readonly subjects?: readonly JsonObject[];
}

const metadata = ({
  name,
  namespace,
  labels,
}: {
  name: string;
  namespace?: string;
  labels?: Readonly<Record<string, string>>;
}): KubeObject['metadata'] => ({
  name,
  ...(namespace === undefined ? {} : { namespace }),
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
  annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
});

function role(kind: string, fact: RoleFact): KubeObject {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind,
    metadata: metadata(fact),
    ...(fact.aggregates === undefined
      ? {}
      : { aggregationRule: { clusterRoleSelectors: fact.aggregates.map((matchLabels) => ({ matchLabels })) } }),
    ...(fact.rules === undefined ? {} : { rules: [...fact.rules] }),
  };
}

const binding = (kind: string, fact: BindingFact): KubeObject => ({
  apiVersion: `${rbacGroup}/v1`,
  kind,
  metadata: metadata(fact),
  roleRef: fact.role,
  ...(fact.subjects === undefined ? {} : { subjects: [...fact.subjects] }),
});

/** The roles and bindings that hold in every logical cluster: Kubernetes' defaults (K7.4) and kcp's own (C7.10). */
export const bootstrapClusterRoles = (): KubeObject[] =>
  [...clusterRoleFacts, ...kcpClusterRoleFacts].map((fact) => role('ClusterRole', fact));
export const bootstrapClusterRoleBindings = (): KubeObject[] =>
  [...clusterRoleBindingFacts, ...kcpClusterRoleBindingFacts].map((fact) => binding('ClusterRoleBinding', fact));
export const bootstrapRoles = (): KubeObject[] => roleFacts.map((fact) => role('Role', fact));
export const bootstrapRoleBindings = (): KubeObject[] => roleBindingFacts.map((fact) => binding('RoleBinding', fact));

import type { KubeObject } from '@multiplane/apimachinery';
import { clusterRoleBindingSpecs, clusterRoleSpecs, roleBindingSpecs, roleSpecs } from './bootstrap-policy.data.ts';
import { kcpClusterRoleBindingSpecs, kcpClusterRoleSpecs } from './kcp-bootstrap-policy.ts';
import type { BindingSpec, RoleSpec } from './policy-spec.ts';
import { rbacGroup } from './rules.ts';

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

function role(kind: string, spec: RoleSpec): KubeObject {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind,
    metadata: metadata(spec),
    ...(spec.aggregates === undefined
      ? {}
      : { aggregationRule: { clusterRoleSelectors: spec.aggregates.map((matchLabels) => ({ matchLabels })) } }),
    ...(spec.rules === undefined ? {} : { rules: [...spec.rules] }),
  };
}

const binding = (kind: string, spec: BindingSpec): KubeObject => ({
  apiVersion: `${rbacGroup}/v1`,
  kind,
  metadata: metadata(spec),
  roleRef: spec.role,
  ...(spec.subjects === undefined ? {} : { subjects: [...spec.subjects] }),
});

/** The roles and bindings that hold in every logical cluster: Kubernetes' defaults and kcp's own. */
export const bootstrapClusterRoles = (): KubeObject[] =>
  [...clusterRoleSpecs, ...kcpClusterRoleSpecs].map((spec) => role('ClusterRole', spec));
export const bootstrapClusterRoleBindings = (): KubeObject[] =>
  [...clusterRoleBindingSpecs, ...kcpClusterRoleBindingSpecs].map((spec) => binding('ClusterRoleBinding', spec));
export const bootstrapRoles = (): KubeObject[] => roleSpecs.map((spec) => role('Role', spec));
export const bootstrapRoleBindings = (): KubeObject[] => roleBindingSpecs.map((spec) => binding('RoleBinding', spec));

import {
  apiVersionOf,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import type { ResourceResolver } from '@multiplane/apiserver';
import type { InformerSource } from '@multiplane/client';
import type { PolicyRule } from '@multiplane/generic-server';
import { countsAsMember } from './effective-users.ts';
import { externalLogicalClusterAdminGroup } from './required-groups.ts';

const policyKinds = ['validatingadmissionpolic', 'mutatingadmissionpolic'] as const;
const none: readonly never[] = [];

interface NamedKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** RBAC rules of shards in a logical cluster, in addition to the bootstrap policy. */
export type ParameterRules = (user: UserInfo, cluster: LogicalClusterName) => readonly DeepReadonly<PolicyRule>[];

/**
 * Lets other shards read policy parameters. Admission policies of a provider apply to writes in its consumers' workspaces, and
 * their parameter objects are in the provider's logical cluster, so the consumers' shards read them. The rules cover exactly
 * the kinds that a policy in the cluster names as `paramKind`, while a policy binding with `paramRef` uses it: creating these
 * already required read access to the kind.
 */
export function parameterRules(modules: {
  /** Of this shard. */
  readonly informers: InformerSource;
  readonly resolver: Pick<ResourceResolver, 'list'>;
}): ParameterRules {
  const { informers, resolver } = modules;
  const sources = policyKinds.map((kind) => ({
    policies: informers.informer(resource(`${kind}ies`)),
    bindings: informers.informer(resource(`${kind}ybindings`)),
  }));
  return (user, cluster) => {
    if (!user.groups.includes(externalLogicalClusterAdminGroup)) return none;
    if (!countsAsMember(user, cluster, [externalLogicalClusterAdminGroup])) return none;
    const kinds = new Set<string>();
    for (const { policies, bindings } of sources)
      for (const binding of bindings.list({ cluster })) {
        const spec = specOf(binding);
        if (spec?.['paramRef'] === undefined || typeof spec['policyName'] !== 'string') continue;
        const policy = policies.get({ cluster, namespace: '', name: spec['policyName'] });
        const paramKind = policy === undefined ? undefined : (specOf(policy)?.['paramKind'] as NamedKind | undefined);
        if (paramKind !== undefined) kinds.add(keyOf(paramKind.apiVersion, paramKind.kind));
      }
    if (kinds.size === 0) return none;
    return resolver
      .list(cluster)
      .filter((definition) => kinds.has(keyOf(apiVersionOf(definition), definition.kind)))
      .map((definition) => ({
        verbs: ['get', 'list'],
        apiGroups: [definition.group],
        resources: [definition.resource],
      }));
  };
}

const resource = (name: string): GroupVersionResource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: name,
});
const keyOf = (apiVersion: string, kind: string): string => `${apiVersion} ${kind}`;
const specOf = (object: DeepReadonly<KubeObject>): DeepReadonly<JsonObject> | undefined =>
  object['spec'] as DeepReadonly<JsonObject> | undefined;

import {
  apiVersionOf,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import type { PolicyRule, ResourceResolver } from '@multiplane/apiserver';
import type { InformerSource } from '@multiplane/client';
import { countsAsMember } from './effective-users.ts';
import { externalLogicalClusterAdminGroup } from './required-groups.ts';

const policyKinds = ['validatingadmissionpolic', 'mutatingadmissionpolic'] as const;
const none: readonly never[] = [];

interface NamedKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The rights that shards have in a logical cluster beside those of the bootstrap policy. */
export type ParameterRules = (user: UserInfo, cluster: LogicalClusterName) => readonly DeepReadonly<PolicyRule>[];

/**
 * What a provider's policies compare the objects of its consumers with lies in the provider's logical cluster, and the
 * shards of the consumers must read it (C6.13, K6.6). They may read the kinds that a policy there names as its
 * parameters, as long as a binding with parameters puts it into force: whoever wrote these had to be able to read all of
 * that kind. Of what else a tenant has nothing becomes readable between shards.
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

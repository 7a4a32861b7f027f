import type { DeepReadonly, GroupVersionResource, LogicalClusterName } from '@multiplane/apimachinery';
import { apiExports, type APIExport } from '@multiplane/apis';
import type { ResourceResolver } from '@multiplane/apiserver';
import type { InformerSyncTracker, InformerSource } from '@multiplane/client';
import type { Clock, Runnable } from '@multiplane/component-base';
import {
  logicalClusterObjectName,
  logicalClusters,
  type LogicalCluster,
  type WorkspaceTypeLookup,
} from '@multiplane/controllers';
import {
  AlwaysAllowPathsAuthorizer,
  AnonymizingAuthorizer,
  AuditLoggingAuthorizer,
  type Authorizer,
  operatorWebhook,
  PrivilegedGroupAuthorizer,
  RbacAuthorizer,
  RbacSource,
  type RuleResolver,
  UnionAuthorizer,
  WebhookAuthorizer,
} from '@multiplane/generic-server';
import { systemAdminCluster, type LogicalClusterIndex } from '../logical-cluster-index.ts';
import { EffectiveUsersAuthorizer } from './effective-users-authorizer.ts';
import { effectiveUsers } from './effective-users.ts';
import { lifecycleRules } from './lifecycle-rules.ts';
import {
  MaximalPermissionPolicyAuthorizer,
  type BoundResources,
  type MaximalPermissionPolicyModules,
} from './maximal-permission-policy.ts';
import { parameterRules, type ParameterRules } from './parameter-rules.ts';
import { RbacLinks } from './rbac-links.ts';
import { RequiredGroupsAuthorizer } from './required-groups.ts';
import { ShardLevelAuthorizer } from './shard-level.ts';
import { SystemCrdAuthorizer } from './system-crd-authorizer.ts';
import { WorkspaceContentAuthorizer } from './workspace-content.ts';

const customResourceDefinitions: GroupVersionResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};

export interface ShardAuthorization {
  /** For requests. */
  readonly requests: Authorizer;
  /** For access reviews, impersonation and admission: also covers logical clusters of other shards. */
  readonly reviews: Authorizer;
  readonly rbac: RbacAuthorizer;
  /** Lists the rules of a user, for SelfSubjectRulesReview. */
  readonly rules: RuleResolver;
  /** Holds the connections to the authorization webhook. */
  readonly runnable: Runnable;
}

export interface ShardAuthorizationOptions {
  readonly authorizationAlwaysAllowPaths: readonly string[];
  readonly authorizationOrder: readonly string[];
  readonly authorizationWebhookConfigFile?: string | undefined;
  readonly authorizationWebhookVersion: string;
  readonly authorizationWebhookCacheAuthorizedTtl: number;
  readonly authorizationWebhookCacheUnauthorizedTtl: number;
}

/**
 * The authorizers in the order of `--authorization-order`: `AlwaysAllowGroups`, `AlwaysAllowPaths`, RBAC behind kcp's workspace
 * authorizers, and the webhook if configured (kcp `pkg/server/options/authorization.go`).
 *
 * Requests are always for logical clusters of this shard and evaluated on its own objects. Reviews may be for any logical
 * cluster; for those of other shards they use replicated RBAC, which covers the use of types and the binding of exports (kcp
 * `pkg/authorization/global_authorizer.go`). A request that reaches the wrong shard is not authorized by replicated RBAC.
 */
export function shardAuthorization(
  options: ShardAuthorizationOptions,
  modules: {
    readonly informers: InformerSyncTracker;
    /** What all shards replicate, this one's own objects first. */
    readonly globalInformers: InformerSource;
    readonly clusters: LogicalClusterIndex;
    /** Workspace types of all shards. */
    readonly types: WorkspaceTypeLookup;
    readonly bindings: BoundResources;
    /** The resources that logical clusters serve. */
    readonly resolver: Pick<ResourceResolver, 'list'>;
    readonly clock: Clock;
  },
): ShardAuthorization {
  const { informers, globalInformers, clusters, types } = modules;
  const { webhook, runnable } = webhookOf(options, modules);
  const globalSource = new RbacSource({ informers: globalInformers });
  const policies = {
    bindings: modules.bindings,
    exports: globalInformers.informer<APIExport>(apiExports),
    definitions: informers.informer(customResourceDefinitions),
    // Evaluates one effective user at a time, so it does not expand effective users itself.
    rbac: new RbacAuthorizer({ bootstrapCluster: systemAdminCluster }, { source: globalSource }),
  };
  const local = chain(options, {
    webhook,
    source: new RbacSource({ informers }),
    policies,
    types,
    logicalCluster: (cluster) => clusters.object(cluster),
    parameters: parameterRules(modules),
  });
  const shared = globalInformers.informer<LogicalCluster>(logicalClusters);
  const global = chain(options, {
    webhook,
    source: globalSource,
    policies,
    types,
    logicalCluster: (cluster) => shared.get({ cluster, namespace: '', name: logicalClusterObjectName }),
  });
  const { rbac } = local;
  const usesWebhook = webhook !== undefined && options.authorizationOrder.includes('Webhook');
  const rules = usesWebhook ? withIncompleteRules(rbac) : rbac;
  return { requests: local.authorizer, reviews: global.authorizer, rbac, rules, runnable };
}

/** Marks the rules as incomplete, as Kubernetes does for a webhook authorizer, whose rules cannot be listed. */
function withIncompleteRules(rules: RuleResolver): RuleResolver {
  return {
    rulesFor: async (user, cluster, namespace) => {
      const known = await rules.rulesFor(user, cluster, namespace);
      const problems = [known.evaluationError, 'webhook authorizer does not support user rule resolution'];
      return { ...known, incomplete: true, evaluationError: problems.filter((text) => text !== '').join(', ') };
    },
  };
}

function webhookOf(
  options: ShardAuthorizationOptions,
  modules: { readonly clock: Clock },
): { readonly webhook: Authorizer | undefined; readonly runnable: Runnable } {
  const { authorizationWebhookConfigFile: file, authorizationWebhookVersion: version } = options;
  const sender =
    file === undefined
      ? undefined
      : operatorWebhook(
          { flag: 'authorization-webhook-config-file', file, userAgent: 'multiplane-authorization' },
          modules,
        );
  const webhook =
    sender === undefined
      ? undefined
      : new EffectiveUsersAuthorizer({
          delegate: new WebhookAuthorizer(
            {
              version: version === 'v1' ? 'v1' : 'v1beta1',
              authorizedTtlMs: options.authorizationWebhookCacheAuthorizedTtl,
              unauthorizedTtlMs: options.authorizationWebhookCacheUnauthorizedTtl,
            },
            { send: sender.send, clock: modules.clock },
          ),
        });
  return {
    webhook,
    runnable: {
      name: 'authorization webhook',
      start: () => Promise.resolve(),
      stop: async () => sender?.close(),
    },
  };
}

function chain(
  options: ShardAuthorizationOptions,
  modules: {
    readonly webhook: Authorizer | undefined;
    readonly source: RbacSource;
    readonly policies: Omit<MaximalPermissionPolicyModules, 'delegate'>;
    readonly types: WorkspaceTypeLookup;
    readonly logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<LogicalCluster> | undefined;
    /** Rules for other shards; absent: none. */
    readonly parameters?: ParameterRules | undefined;
  },
): { readonly authorizer: Authorizer; readonly rbac: RbacAuthorizer } {
  const { source, policies, logicalCluster, parameters = () => [] } = modules;
  const typeRules = lifecycleRules(modules);
  const rbac = new RbacAuthorizer(
    { bootstrapCluster: systemAdminCluster },
    {
      source,
      effectiveUsers,
      implicitRules: (user, cluster) => {
        const shared = parameters(user, cluster);
        const own = typeRules(user, cluster);
        return own === undefined ? shared : [...own, ...shared];
      },
    },
  );
  const step = (key: string, delegate: Authorizer): Authorizer => new AuditLoggingAuthorizer({ key }, { delegate });
  const local = new RbacLinks({ delegate: rbac });
  const maximal = step(
    '04-maxpermissionpolicy',
    new MaximalPermissionPolicyAuthorizer({ ...policies, delegate: local }),
  );
  const definitions = step('03-systemcrd', new SystemCrdAuthorizer({ delegate: maximal }));
  const content = step(
    '02-content',
    new WorkspaceContentAuthorizer({ rbac, logicalCluster, lifecycleRules: typeRules, delegate: definitions }),
  );
  const workspaces = step('01-requiredgroups', new RequiredGroupsAuthorizer({ logicalCluster, delegate: content }));
  const byName: Readonly<Record<string, Authorizer | undefined>> = {
    AlwaysAllowGroups: new PrivilegedGroupAuthorizer(),
    AlwaysAllowPaths: new AlwaysAllowPathsAuthorizer({ paths: options.authorizationAlwaysAllowPaths }),
    RBAC: new AnonymizingAuthorizer({ delegate: new ShardLevelAuthorizer({ rbac, delegate: workspaces }) }),
    Webhook: modules.webhook,
  };
  const authorizer = new UnionAuthorizer({
    authorizers: options.authorizationOrder.flatMap((name) => byName[name] ?? []),
  });
  return { authorizer, rbac };
}

import type { DeepReadonly, GroupVersionResource, LogicalClusterName } from '@multiplane/apimachinery';
import { apiExports, type APIExport } from '@multiplane/apis';
import {
  AlwaysAllowPathsAuthorizer,
  AnonymisedReasons,
  AuditedStep,
  PrivilegedGroupAuthorizer,
  RbacAuthorizer,
  RbacSource,
  operatorWebhook,
  UnionAuthorizer,
  WebhookAuthorizer,
  type Authorizer,
  type ResourceResolver,
  type RuleResolver,
} from '@multiplane/apiserver';
import type { AwaitedInformers, InformerSource } from '@multiplane/client';
import type { Clock, Runnable } from '@multiplane/component-base';
import {
  logicalClusterObjectName,
  logicalClusters,
  type LogicalCluster,
  type WorkspaceTypes,
} from '@multiplane/controllers';
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
import { RequiredGroupsAuthorizer } from './required-groups.ts';
import { ShardLevelAuthorizer } from './shard-level.ts';
import { SystemDefinitionsAuthorizer } from './system-definitions.ts';
import { WorkspaceContentAuthorizer } from './workspace-content.ts';

const customResourceDefinitions: GroupVersionResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};

export interface ShardAuthorization {
  /** For requests. */
  readonly requests: Authorizer;
  /** For access reviews, impersonation and the checks of admission: the same answers, also of other shards' clusters. */
  readonly reviews: Authorizer;
  readonly rbac: RbacAuthorizer;
  /** All that somebody may do, as far as it can be listed. */
  readonly rules: RuleResolver;
  /** The webhook's connections. */
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
 * The authorizers of `--authorization-order`: `AlwaysAllowGroups`, `AlwaysAllowPaths`, RBAC behind what guards a workspace,
 * outermost first, and the webhook if there is one (C7.7).
 *
 * Requests are for logical clusters of this shard and decided by what it stores. Reviews may be of any: for one of another
 * shard, by what that one shares (`05-global`): who may use its types and bind its exports. A request that was sent to
 * the wrong shard is not let in by that.
 */
export function shardAuthorization(
  options: ShardAuthorizationOptions,
  modules: {
    readonly informers: AwaitedInformers;
    /** What all shards replicate, this one's own objects first. */
    readonly globalInformers: InformerSource;
    readonly clusters: LogicalClusterIndex;
    /** Workspace types of all shards. */
    readonly types: WorkspaceTypes;
    readonly bindings: BoundResources;
    /** What logical clusters serve. */
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
    // Of those who count as the user where the request is; here each of them is nobody else.
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
  const asksWebhook = webhook !== undefined && options.authorizationOrder.includes('Webhook');
  const rules = asksWebhook ? unlistable(rbac) : rbac;
  return { requests: local.authorizer, reviews: global.authorizer, rbac, rules, runnable };
}

/** What a webhook allows cannot be listed, and whoever asks for a list is told (K7.3). */
function unlistable(rules: RuleResolver): RuleResolver {
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
    readonly types: WorkspaceTypes;
    readonly logicalCluster: (cluster: LogicalClusterName) => DeepReadonly<LogicalCluster> | undefined;
    /** What other shards may read; absent: nothing. */
    readonly parameters?: ParameterRules | undefined;
  },
): { readonly authorizer: Authorizer; readonly rbac: RbacAuthorizer } {
  const { source, policies, logicalCluster, parameters = () => [] } = modules;
  const ofTypes = lifecycleRules(modules);
  const rbac = new RbacAuthorizer(
    { bootstrapCluster: systemAdminCluster },
    {
      source,
      effectiveUsers,
      unboundRules: (user, cluster) => {
        const shared = parameters(user, cluster);
        const own = ofTypes(user, cluster);
        return own === undefined ? shared : [...own, ...shared];
      },
    },
  );
  const step = (key: string, delegate: Authorizer): Authorizer => new AuditedStep({ key }, { delegate });
  const local = step('05-local', rbac);
  const maximal = step(
    '04-maxpermissionpolicy',
    new MaximalPermissionPolicyAuthorizer({ ...policies, delegate: local }),
  );
  const definitions = step('03-systemcrd', new SystemDefinitionsAuthorizer({ delegate: maximal }));
  const content = step(
    '02-content',
    new WorkspaceContentAuthorizer({ rbac, logicalCluster, lifecycleRules: ofTypes, delegate: definitions }),
  );
  const workspaces = step('01-requiredgroups', new RequiredGroupsAuthorizer({ logicalCluster, delegate: content }));
  const byName: Readonly<Record<string, Authorizer | undefined>> = {
    AlwaysAllowGroups: new PrivilegedGroupAuthorizer(),
    AlwaysAllowPaths: new AlwaysAllowPathsAuthorizer({ paths: options.authorizationAlwaysAllowPaths }),
    RBAC: new AnonymisedReasons({ delegate: new ShardLevelAuthorizer({ rbac, delegate: workspaces }) }),
    Webhook: modules.webhook,
  };
  const authorizer = new UnionAuthorizer({
    authorizers: options.authorizationOrder.flatMap((name) => byName[name] ?? []),
  });
  return { authorizer, rbac };
}

import type { GroupVersionResource, JsonObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { InformerSource } from '@multiplane/client';
import type { CelCosts } from '@multiplane/apis';
import { ObjectFaults, type Clock, type RequestWork } from '@multiplane/component-base';
import type { Authorizer, WebhookClient } from '@multiplane/generic-server';
import type { WatchCache } from '@multiplane/storage';
import type { ObjectReader } from '../registry/store/object-reader.ts';
import type { ResourceResolver } from '../registry/definitions/resource-resolver.ts';
import type { ExpressionOffloader } from './admission-evaluation.ts';
import { ClusterConfigurations } from './matching/cluster-configurations.ts';
import { RequestMatcher } from './matching/request-matcher.ts';
import type { AdmissionPlugin } from './plugin.ts';
import type { RequestKind } from './request-objects.ts';
import { MutatingPolicies } from './policies/mutating-policies.ts';
import {
  bindingHook,
  brokenBindingHook,
  brokenPolicyHook,
  ExpressionCache,
  policyHook,
} from './policies/policy-hook.ts';
import { defaultRemoteParamsOptions, RemoteParams, type RemoteParamsModules } from './policies/remote-params.ts';
import { PolicyParams } from './policies/policy-params.ts';
import { PolicyPermissions } from './policies/policy-permissions.ts';
import { ValidatingPolicies } from './policies/validating-policies.ts';
import { AdmissionReviewer } from './webhooks/admission-review.ts';
import { InternalCallLimiter } from './webhooks/internal-call-limiter.ts';
import { MutatingWebhooks } from './webhooks/mutating-webhooks.ts';
import { ValidatingWebhooks } from './webhooks/validating-webhooks.ts';
import type { ConfigurationCluster } from './webhooks/webhook-dispatcher.ts';
import { brokenWebhookAccessors, type WebhookAccessor, webhookAccessors } from './webhooks/webhook-accessor.ts';

export interface ConfiguredAdmissionModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly resolver: Pick<ResourceResolver, 'list'>;
  /** Informers over the objects of this server. */
  readonly informers: InformerSource;
  /** Webhook configurations and policies of all shards. */
  readonly configurations: InformerSource;
  readonly configurationCluster: ConfigurationCluster;
  readonly client: Pick<WebhookClient, 'post'>;
  readonly authorizer: Authorizer;
  /** Evaluates expensive expressions; absent: they are evaluated on the event loop. */
  readonly offloader?: ExpressionOffloader | undefined;
  /** Absent: the cost of expressions is only limited per request. */
  readonly costs?: CelCosts | undefined;
  /** Reports configurations that cannot be compiled. */
  readonly faults?: ObjectFaults | undefined;
  readonly newUid: () => string;
  readonly clock: Clock;
  /** Conforms a document to the schema of its kind, in place; returns the paths of unknown fields. */
  readonly conform: (document: JsonObject, kind: RequestKind, work: RequestWork) => Promise<readonly string[]>;
  /** Whether this shard stores the logical cluster. */
  readonly isLocal: (cluster: LogicalClusterName) => boolean;
  /**
   * The transport to logical clusters of other shards, for parameters of policies; returns undefined if there is none.
   */
  readonly remoteTransport: RemoteParamsModules['transport'];
}

/** Names of the plugins in flags; default: those of Kubernetes. */
export interface ConfiguredAdmissionOptions {
  readonly mutatingWebhooks?: string | undefined;
  readonly mutatingPolicies?: string | undefined;
  readonly validatingPolicies?: string | undefined;
  readonly validatingWebhooks?: string | undefined;
}

export interface ConfiguredAdmission {
  readonly mutatingWebhooks: AdmissionPlugin;
  readonly mutatingPolicies: AdmissionPlugin;
  readonly validatingPolicies: AdmissionPlugin;
  readonly validatingWebhooks: AdmissionPlugin;
  /** Checks the permissions of policy authors. */
  readonly policyPermissions: AdmissionPlugin;
  readonly stop: () => void;
}

const resource = (name: string): GroupVersionResource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: name,
});

const resourceOfKind = {
  MutatingWebhookConfiguration: 'mutatingwebhookconfigurations',
  ValidatingWebhookConfiguration: 'validatingwebhookconfigurations',
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
  MutatingAdmissionPolicyBinding: 'mutatingadmissionpolicybindings',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings',
} as const;
type ConfigurationKind = keyof typeof resourceOfKind;

/** The plugins that are configured by objects of admissionregistration.k8s.io: webhooks and CEL policies. */
export function configuredAdmission(
  options: ConfiguredAdmissionOptions,
  modules: ConfiguredAdmissionModules,
): ConfiguredAdmission {
  const { configurations, configurationCluster, resolver, informers, reader, authorizer, offloader, costs, conform } =
    modules;
  const compiled = new ExpressionCache();
  const matcher = new RequestMatcher({
    namespaces: informers.informer({ group: '', version: 'v1', resource: 'namespaces' }),
    equivalents: (cluster, definition) =>
      resolver
        .list(cluster)
        .filter((other) => other !== definition && other.storage?.prefix === definition.storage?.prefix),
  });
  const { faults = new ObjectFaults({}) } = modules;
  const source = (kind: ConfigurationKind) => ({
    kind,
    informer: configurations.informer(resource(resourceOfKind[kind])),
    faults,
  });
  const webhooks = (kind: ConfigurationKind) =>
    new ClusterConfigurations<readonly WebhookAccessor[]>({
      ...source(kind),
      compile: (object) => webhookAccessors(object, compiled),
      compileBroken: brokenWebhookAccessors,
    });
  const policies = (kind: ConfigurationKind) =>
    new ClusterConfigurations({
      ...source(kind),
      compile: (object) => policyHook(object, compiled),
      compileBroken: brokenPolicyHook,
    });
  const bindings = (kind: ConfigurationKind) =>
    new ClusterConfigurations({ ...source(kind), compile: bindingHook, compileBroken: brokenBindingHook });
  const mutatingHooks = webhooks('MutatingWebhookConfiguration');
  const validatingHooks = webhooks('ValidatingWebhookConfiguration');
  const mutating = {
    policies: policies('MutatingAdmissionPolicy'),
    bindings: bindings('MutatingAdmissionPolicyBinding'),
  };
  const validating = {
    policies: policies('ValidatingAdmissionPolicy'),
    bindings: bindings('ValidatingAdmissionPolicyBinding'),
  };
  const shared = { configurationCluster, matcher, reader, authorizer, offloader, costs, conform };
  const reviewer = new AdmissionReviewer(modules);
  const calls = { ...shared, reviewer, internalCallLimiter: new InternalCallLimiter(modules) };
  const remoteParams = new RemoteParams(defaultRemoteParamsOptions, {
    transport: modules.remoteTransport,
    clock: modules.clock,
  });
  const params = new PolicyParams({ ...modules, remoteParams });
  return {
    mutatingWebhooks: new MutatingWebhooks(
      { name: options.mutatingWebhooks },
      { ...calls, configurations: mutatingHooks },
    ),
    validatingWebhooks: new ValidatingWebhooks(
      { name: options.validatingWebhooks },
      { ...calls, configurations: validatingHooks },
    ),
    mutatingPolicies: new MutatingPolicies({ name: options.mutatingPolicies }, { ...shared, ...mutating, params }),
    validatingPolicies: new ValidatingPolicies(
      { name: options.validatingPolicies },
      { ...shared, ...validating, params },
    ),
    policyPermissions: new PolicyPermissions({ authorizer, resolver, informers }),
    stop: () => {
      for (const configuration of [
        mutatingHooks,
        validatingHooks,
        ...Object.values(mutating),
        ...Object.values(validating),
      ])
        configuration.stop();
    },
  };
}

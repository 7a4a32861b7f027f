import type { GroupVersionResource, JsonObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { InformerSource } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import type { WatchCache } from '@multiplane/storage';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { ObjectReader } from '../registry/object-reader.ts';
import type { ResourceResolver } from '../registry/resource-resolver.ts';
import type { WebhookClient } from '../webhooks/webhook-client.ts';
import type { SlowExpressions } from './admission-evaluation.ts';
import { ClusterConfigurations } from './matching/cluster-configurations.ts';
import { RequestMatcher } from './matching/request-matcher.ts';
import type { AdmissionPlugin } from './plugin.ts';
import type { RequestKind } from './request-objects.ts';
import { MutatingPolicies } from './policies/mutating-policies.ts';
import { bindingHook, CompiledExpressions, policyHook } from './policies/policy-hook.ts';
import {
  defaultParamsElsewhereOptions,
  ParamsElsewhere,
  type ParamsElsewhereModules,
} from './policies/params-elsewhere.ts';
import { PolicyParams } from './policies/policy-params.ts';
import { PolicyPermissions } from './policies/policy-permissions.ts';
import { ValidatingPolicies } from './policies/validating-policies.ts';
import { AdmissionReviewer } from './webhooks/admission-review.ts';
import { InternalCalls } from './webhooks/internal-calls.ts';
import { MutatingWebhooks } from './webhooks/mutating-webhooks.ts';
import { ValidatingWebhooks } from './webhooks/validating-webhooks.ts';
import type { ConfigurationCluster } from './webhooks/webhook-dispatch.ts';
import { type WebhookHook, webhookHooks } from './webhooks/webhook-hook.ts';

export interface ConfiguredAdmissionModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly resolver: Pick<ResourceResolver, 'list'>;
  /** What this server stores. */
  readonly informers: InformerSource;
  /** Configurations and policies, wherever they are written. */
  readonly configurations: InformerSource;
  readonly configurationCluster: ConfigurationCluster;
  readonly client: Pick<WebhookClient, 'post'>;
  readonly authorizer: Authorizer;
  /** Where expressions are evaluated that take long; absent: here. */
  readonly slowly?: SlowExpressions | undefined;
  readonly newUid: () => string;
  readonly clock: Clock;
  /** Brings a document into the shape of its kind, in place; returns fields that the kind does not have. */
  readonly shape: (document: JsonObject, kind: RequestKind) => readonly string[];
  /** Whether what a logical cluster stores is here. */
  readonly isHere: (cluster: LogicalClusterName) => boolean;
  /** The way to logical clusters of other shards, for parameters of policies; undefined: there is none. */
  readonly elsewhere: ParamsElsewhereModules['transport'];
}

/** Names of the plugins, as flags have them; absent: those of Kubernetes. */
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
  /** What the authors of policies must be allowed. */
  readonly policyPermissions: AdmissionPlugin;
  readonly stop: () => void;
}

const resource = (name: string): GroupVersionResource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: name,
});

/** The plugins that do what objects of admissionregistration.k8s.io say (K6.4 to K6.8). */
export function configuredAdmission(
  options: ConfiguredAdmissionOptions,
  modules: ConfiguredAdmissionModules,
): ConfiguredAdmission {
  const { configurations, configurationCluster, resolver, informers, reader, authorizer, slowly, shape } = modules;
  const compiled = new CompiledExpressions();
  const matcher = new RequestMatcher({
    namespaces: informers.informer({ group: '', version: 'v1', resource: 'namespaces' }),
    equivalents: (cluster, definition) =>
      resolver
        .list(cluster)
        .filter((other) => other !== definition && other.storage?.prefix === definition.storage?.prefix),
  });
  const webhooks = (name: string) =>
    new ClusterConfigurations<readonly WebhookHook[]>({
      informer: configurations.informer(resource(name)),
      make: (object) => webhookHooks(object, compiled),
    });
  const policies = (name: string) =>
    new ClusterConfigurations({
      informer: configurations.informer(resource(name)),
      make: (object) => policyHook(object, compiled),
    });
  const bindings = (name: string) =>
    new ClusterConfigurations({ informer: configurations.informer(resource(name)), make: bindingHook });
  const mutatingHooks = webhooks('mutatingwebhookconfigurations');
  const validatingHooks = webhooks('validatingwebhookconfigurations');
  const mutating = {
    policies: policies('mutatingadmissionpolicies'),
    bindings: bindings('mutatingadmissionpolicybindings'),
  };
  const validating = {
    policies: policies('validatingadmissionpolicies'),
    bindings: bindings('validatingadmissionpolicybindings'),
  };
  const shared = { configurationCluster, matcher, reader, authorizer, slowly, shape };
  const reviewer = new AdmissionReviewer({}, modules);
  const calls = { ...shared, reviewer, internalCalls: new InternalCalls(modules) };
  const elsewhere = new ParamsElsewhere(defaultParamsElsewhereOptions, {
    transport: modules.elsewhere,
    clock: modules.clock,
  });
  const params = new PolicyParams({}, { ...modules, elsewhere });
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
    policyPermissions: new PolicyPermissions({}, { authorizer, resolver, informers }),
    stop: () => {
      for (const one of [mutatingHooks, validatingHooks, ...Object.values(mutating), ...Object.values(validating)])
        one.stop();
    },
  };
}

import { eventLoopIdle } from '@multiplane/testing';
import { clusterAnnotation, type JsonObject, type LogicalClusterName, type UserInfo } from '@multiplane/apimachinery';
import { builtInResources } from '@multiplane/apis';
import type { WebhookServer } from '@multiplane/testing/serving';
import { builtInPrefix, objectKey } from '@multiplane/storage';
import { AddressPolicy, type Authorizer, WebhookClient } from '@multiplane/generic-server';
import { conformToKind } from '../src/write-path/decoding/shape-document.ts';
import type { CreateHandlers } from '../src/endpoints/create-handler.ts';
import { CacheInformerFactory } from '../src/informers/cache-informer-factory.ts';
import { Pipeline } from './pipeline.ts';
import type { ExpressionOffloader } from '../src/admission/admission-evaluation.ts';
import { configuredAdmission, type ConfiguredAdmission } from '../src/admission/configured-admission.ts';
import type { AdmissionPlugin } from '../src/admission/plugin.ts';
import type { RemoteParamsModules } from '../src/admission/policies/remote-params.ts';

const builtIn = builtInResources();

/** FOR TESTS: an audit annotation of a plugin. */
export type Annotations = Map<string, string>;

export interface ConfiguredPipeline {
  readonly on: Pipeline;
  readonly annotations: Annotations;
  /** Creates an object of admissionregistration.k8s.io, and waits until it is in effect. */
  readonly configure: (resource: string, name: string, content: JsonObject) => Promise<void>;
  /** The same for an object that validation refuses. */
  readonly configureStored: (resource: string, name: string, content: JsonObject) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** FOR TESTS: a logical cluster with admission webhooks and policies. */
export async function configuredPipeline(
  options: {
    readonly user?: UserInfo;
    readonly authorizer?: Authorizer;
    readonly configurationCluster?: (resource: string, cluster: LogicalClusterName) => LogicalClusterName;
    readonly slowly?: ExpressionOffloader;
    /** Plugins before those of webhooks. */
    readonly before?: readonly AdmissionPlugin[];
    readonly createHandlers?: CreateHandlers;
    /** Logical clusters of another shard, and the transport to it. */
    readonly remote?: {
      readonly clusters: readonly string[];
      readonly transport: RemoteParamsModules['transport'];
    };
  } = {},
): Promise<ConfiguredPipeline> {
  const annotations: Annotations = new Map();
  // The plugins need the cache of the pipeline, and the pipeline needs the plugins, so these are looked up late.
  const made: { plugins?: ConfiguredAdmission } = {};
  const late = (name: Exclude<keyof ConfiguredAdmission, 'stop'>): AdmissionPlugin => ({
    name,
    // The admission chain selects the plugins of an operation once, before they exist.
    handles: () => true,
    admit: async (attributes, round) => {
      if (made.plugins?.[name].handles(attributes.operation) === true)
        await made.plugins[name].admit?.({ ...attributes, object: attributes.object, annotate: note }, round);
    },
    validate: async (attributes) => {
      if (made.plugins?.[name].handles(attributes.operation) === true)
        await made.plugins[name].validate?.({ ...attributes, annotate: note });
    },
  });
  const note = (key: string, value: string): void => {
    if (!annotations.has(key)) annotations.set(key, value);
  };
  const on = await Pipeline.open({
    user: options.user,
    createHandlers: options.createHandlers,
    plugins: [
      ...(options.before ?? []),
      late('mutatingWebhooks'),
      late('mutatingPolicies'),
      late('validatingPolicies'),
      late('validatingWebhooks'),
      late('policyPermissions'),
    ],
  });
  const { cache, reader, resolver, clock } = on;
  const informers = new CacheInformerFactory({ cache, reader, builtIn });
  const client = new WebhookClient({}, { policy: new AddressPolicy({ allowed: ['127.0.0.0/8'], denied: [] }), clock });
  let uids = 0;
  made.plugins = configuredAdmission(
    {},
    {
      cache,
      reader,
      resolver,
      informers,
      configurations: informers,
      configurationCluster: ({ definition, cluster }) =>
        options.configurationCluster?.(definition.resource, cluster) ?? cluster,
      client,
      authorizer: options.authorizer ?? { authorize: () => Promise.resolve({ decision: 'noOpinion', reason: '' }) },
      offloader: options.slowly,
      clock,
      newUid: () => `uid-${++uids}`,
      conform: conformToKind,
      isLocal: (cluster) => options.remote?.clusters.includes(cluster) !== true,
      remoteTransport: () => options.remote?.transport(),
    },
  );
  await eventLoopIdle();
  return {
    on,
    annotations,
    configure: async (resource, name, content) => {
      await on.must(201, 'POST', `/apis/admissionregistration.k8s.io/v1/${resource}`, {
        metadata: { name },
        ...content,
      });
      await eventLoopIdle();
    },
    configureStored: async (resource, name, content) => {
      const group = 'admissionregistration.k8s.io';
      const key = objectKey(builtInPrefix(group, resource), { cluster: on.cluster, namespace: '', name });
      const kind = builtIn.find((definition) => definition.group === group && definition.resource === resource)?.kind;
      const object = {
        apiVersion: `${group}/v1`,
        kind: kind as string,
        metadata: { name, uid: `stored-${name}`, annotations: { [clusterAnnotation]: on.cluster } },
        ...content,
      };
      await cache.create(key, Buffer.from(JSON.stringify(object)));
      await eventLoopIdle();
    },
    close: async () => {
      made.plugins?.stop();
      client.close();
      await on.close();
    },
  };
}

/** FOR TESTS: a webhook of a configuration, for writes of ConfigMaps by default. */
export const webhookOf = (server: WebhookServer, change: JsonObject = {}): JsonObject => ({
  name: 'a.hooks.example.com',
  clientConfig: { url: `${server.url}/review`, caBundle: Buffer.from(server.ca).toString('base64') },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
  ...change,
});

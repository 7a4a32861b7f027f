import type { JsonObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import { builtInResources } from '@multiplane/apis';
import type { Authorizer } from '../authorization/authorizer.ts';
import { BodyDecoder } from '../endpoints/body-decoder.ts';
import type { CreateHandlers } from '../endpoints/create-handler.ts';
import { inlineYamlReader } from '../endpoints/yaml-reader.ts';
import { CacheInformerFactory } from '../informers/cache-informer-factory.ts';
import { Pipeline, settle } from '../pipeline-fixture.ts';
import type { WebhookServer } from '../test-support/webhook-server.ts';
import { AddressPolicy } from '../webhooks/address-policy.ts';
import { WebhookClient } from '../webhooks/webhook-client.ts';
import type { SlowExpressions } from './admission-evaluation.ts';
import { configuredAdmission, type ConfiguredAdmission } from './configured-admission.ts';
import type { AdmissionPlugin } from './plugin.ts';
import type { ParamsElsewhereModules } from './policies/params-elsewhere.ts';

const builtIn = builtInResources();

/** FOR TESTS: what a plugin told the audit log. */
export type Annotations = Map<string, string>;

export interface ConfiguredPipeline {
  readonly on: Pipeline;
  readonly annotations: Annotations;
  /** Creates an object of admissionregistration.k8s.io, and waits until it holds. */
  readonly configure: (resource: string, name: string, content: JsonObject) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** FOR TESTS: a logical cluster where webhooks and policies work. */
export async function configuredPipeline(
  options: {
    readonly user?: UserInfo;
    readonly authorizer?: Authorizer;
    readonly configurationCluster?: (resource: string, cluster: LogicalClusterName) => LogicalClusterName;
    readonly slowly?: SlowExpressions;
    /** Plugins that come before those of webhooks. */
    readonly before?: readonly AdmissionPlugin[];
    readonly createHandlers?: CreateHandlers;
    /** Logical clusters of another shard, and the way there. */
    readonly elsewhere?: {
      readonly clusters: readonly string[];
      readonly transport: ParamsElsewhereModules['transport'];
    };
  } = {},
): Promise<ConfiguredPipeline> {
  const annotations: Annotations = new Map();
  // The plugins need the cache that the pipeline makes, the pipeline needs its plugins: this joins them.
  const made: { plugins?: ConfiguredAdmission } = {};
  const late = (name: Exclude<keyof ConfiguredAdmission, 'stop'>): AdmissionPlugin => ({
    name,
    // Which plugins an operation needs is asked once, and they are not there yet.
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
  const informers = new CacheInformerFactory({}, { cache, reader, builtIn });
  const client = new WebhookClient({}, { policy: new AddressPolicy({ allowed: ['127.0.0.0/8'], denied: [] }), clock });
  const decoder = new BodyDecoder({}, { isBuiltInKind: () => true, yaml: inlineYamlReader });
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
      slowly: options.slowly,
      clock,
      newUid: () => `uid-${++uids}`,
      shape: (document, definition) => decoder.shapeDocument(document, definition),
      isHere: (cluster) => options.elsewhere?.clusters.includes(cluster) !== true,
      elsewhere: () => options.elsewhere?.transport(),
    },
  );
  await settle();
  return {
    on,
    annotations,
    configure: async (resource, name, content) => {
      await on.must(201, 'POST', `/apis/admissionregistration.k8s.io/v1/${resource}`, {
        metadata: { name },
        ...content,
      });
      await settle();
    },
    close: async () => {
      made.plugins?.stop();
      client.close();
      await on.close();
    },
  };
}

/** FOR TESTS: a webhook of a configuration, for writes of ConfigMaps unless told otherwise. */
export const webhookOf = (server: WebhookServer, change: JsonObject = {}): JsonObject => ({
  name: 'a.hooks.example.com',
  clientConfig: { url: `${server.url}/review`, caBundle: Buffer.from(server.ca).toString('base64') },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
  ...change,
});

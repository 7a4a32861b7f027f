import { afterEach, beforeEach } from '@jest/globals';
import type { Json, JsonObject, KubeObject } from '@multiplane/apimachinery';
import { type ReceivedCall, WebhookServer } from '@multiplane/testing/serving';
import { configuredPipeline, type ConfiguredPipeline } from './configured-admission-fixture.ts';
import type { Answer } from './pipeline.ts';

export const maps = '/api/v1/namespaces/default/configmaps';
export const mergePatch = { 'content-type': 'application/merge-patch+json' };
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export const requestOf = (call: ReceivedCall): JsonObject =>
  (JSON.parse(call.body.toString()) as { request: JsonObject }).request;

export function answer(call: ReceivedCall, response: JsonObject): JsonObject {
  const { apiVersion } = JSON.parse(call.body.toString()) as { apiVersion: string };
  return { apiVersion, kind: 'AdmissionReview', response: { uid: requestOf(call)['uid'] as string, ...response } };
}
export const allowed = (call: ReceivedCall): JsonObject => answer(call, { allowed: true });
export const patching = (call: ReceivedCall, ...operations: Json[]): JsonObject =>
  answer(call, {
    allowed: true,
    patchType: 'JSONPatch',
    patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
  });

/** A server with configured admission, and a webhook that allows everything by default. */
export interface WebhookSuite {
  readonly server: WebhookServer;
  readonly admission: ConfiguredPipeline;
  /** Replaces the server of {@link admission}. */
  reopen(...how: Parameters<typeof configuredPipeline>): Promise<void>;
  /** The reviews that the webhook received. */
  requests(): JsonObject[];
  validating(...webhooks: JsonObject[]): Promise<void>;
  mutating(...webhooks: JsonObject[]): Promise<void>;
  /** Creates a ConfigMap. */
  create(name?: string, data?: JsonObject): Promise<Answer>;
  /** Creates a definition and waits until it is served. */
  serve(definition: KubeObject): Promise<void>;
}

/** One for each test of a suite. */
export function webhookSuite(): WebhookSuite {
  let server: WebhookServer;
  let admission: ConfiguredPipeline;
  beforeEach(async () => {
    server = await WebhookServer.start((call) => allowed(call));
    admission = await configuredPipeline();
  });
  afterEach(async () => {
    await admission.close();
    await server.stop();
  });
  return {
    get server() {
      return server;
    },
    get admission() {
      return admission;
    },
    reopen: async (...how) => {
      await admission.close();
      admission = await configuredPipeline(...how);
    },
    requests: () => server.calls.map(requestOf),
    validating: (...webhooks) => admission.configure('validatingwebhookconfigurations', 'w', { webhooks }),
    mutating: (...webhooks) => admission.configure('mutatingwebhookconfigurations', 'w', { webhooks }),
    create: (name = 'a', data = {}) => admission.on.ask('POST', maps, { metadata: { name }, data }),
    serve: async (definition) => {
      const { names } = definition['spec'] as { names: { plural: string; kind: string } };
      await admission.on.must(201, 'POST', definitions, definition);
      const path = `${definitions}/${definition.metadata.name}/status`;
      await admission.on.must(200, 'PATCH', path, established(names.plural, names.kind), mergePatch);
    },
  };
}

/** The status of a definition that is served. */
const established = (plural: string, kind: string): JsonObject => ({
  status: {
    conditions: [
      { type: 'NamesAccepted', status: 'True' },
      { type: 'Established', status: 'True' },
    ],
    acceptedNames: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
    storedVersions: ['v1'],
  },
});

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { afterEach, expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import type { RestRequest } from '@multiplane/client';
import { configuredPipeline, type ConfiguredPipeline } from '../../../test/configured-admission-fixture.ts';

/* A provider on another shard: its policies are replicated to this one, its parameters are not. */

const maps = '/api/v1/namespaces/default/configmaps';
const secrets = '/clusters/provider/api/v1/namespaces/default/secrets';
const discovery = '/clusters/provider/api/v1';

let admission: ConfiguredPipeline;
afterEach(() => admission.close());

/** Responses of the other shard by path; a function for one that does not respond. */
const answers: Record<string, JsonObject | number | ((request: RestRequest) => Promise<never>)> = {};
let requests: string[] = [];
const transport = {
  open: async (request: RestRequest): Promise<IncomingMessage> => {
    requests.push(request.path);
    const answer = answers[request.path] ?? 404;
    if (typeof answer === 'function') return answer(request);
    const statusCode = typeof answer === 'number' ? answer : 200;
    const body = JSON.stringify(typeof answer === 'number' ? { kind: 'Status', code: answer, message: 'no' } : answer);
    return Object.assign(Readable.from([Buffer.from(body)]), { statusCode }) as unknown as IncomingMessage;
  },
};
const secret = (name: string, text: string, labels: Record<string, string> = {}): JsonObject => ({
  metadata: { name, namespace: 'default', labels },
  stringData: { text },
});

async function start(
  paramRef: JsonObject,
  { failurePolicy = 'Fail', way = true }: { failurePolicy?: string; way?: boolean } = {},
): Promise<void> {
  requests = [];
  for (const path of Object.keys(answers)) delete answers[path];
  answers[discovery] = {
    kind: 'APIResourceList',
    resources: [
      { name: 'secrets/part', kind: 'Secret', namespaced: true },
      { name: 'secrets', kind: 'Secret', namespaced: true },
    ],
  };
  admission = await configuredPipeline({
    configurationCluster: (resource, cluster) => (resource === 'configmaps' ? ('provider' as typeof cluster) : cluster),
    remote: { clusters: ['provider'], transport: () => (way ? transport : undefined) },
  });
  const registration = '/clusters/provider/apis/admissionregistration.k8s.io/v1';
  await admission.on.must(201, 'POST', `${registration}/validatingadmissionpolicies`, {
    metadata: { name: 'p' },
    spec: {
      failurePolicy,
      paramKind: { apiVersion: 'v1', kind: 'Secret' },
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      },
      validations: [
        {
          expression: 'object.metadata.name != params.stringData.text',
          messageExpression: '"not " + params.metadata.name',
        },
      ],
    },
  });
  await admission.on.must(201, 'POST', `${registration}/validatingadmissionpolicybindings`, {
    metadata: { name: 'b' },
    spec: { policyName: 'p', validationActions: ['Deny'], paramRef: { parameterNotFoundAction: 'Deny', ...paramRef } },
  });
}

const made = async (name: string): Promise<unknown> => {
  const { status, body } = await admission.on.ask('POST', `${maps}?dryRun=All`, { metadata: { name } });
  return status === 201 ? 201 : body['message'];
};
const denied = (name: string, why: string): string =>
  `configmaps "${name}" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ${why}`;
const unreadable = (name: string, why: string): string =>
  denied(
    name,
    `failed to configure binding: params of kind \`/v1, Kind=Secret\` are on another shard and cannot be read: ${why}`,
  );

test('reads a named parameter from its shard, once per TTL', async () => {
  await start({ name: 's' });
  answers[`${secrets}/s`] = secret('s', 'a');
  expect(await Promise.all(['a', 'b', 'a'].map(made))).toEqual([denied('a', 'not s'), 201, denied('a', 'not s')]);
  expect(requests).toEqual([discovery, `${secrets}/s`]);
  answers[`${secrets}/s`] = secret('s', 'b');
  expect(await made('b')).toBe(201);
  await admission.on.clock.advance(1_000);
  expect(await made('b')).toBe(denied('b', 'not s'));
});

test('selects parameters by label', async () => {
  await start({ selector: { matchLabels: { use: 'yes' } } });
  answers[secrets] = { kind: 'SecretList', items: [secret('x', 'a', { use: 'no' }), secret('y', 'b', { use: 'yes' })] };
  expect([await made('a'), await made('b')]).toEqual([201, denied('b', 'not y')]);
});

test('treats missing parameters like local ones', async () => {
  await start({ name: 'none' });
  expect(await made('a')).toBe(
    denied('a', 'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction'),
  );
  answers[discovery] = { kind: 'APIResourceList', resources: [] };
  await admission.on.clock.advance(1_000);
  expect(await made('a')).toBe(denied('a', 'failed to configure binding: paramKind kind `/v1, Kind=Secret` not known'));
});

test('reports a failed read without the message of the other shard', async () => {
  await start({ name: 's' });
  answers[`${secrets}/s`] = 403;
  expect(await made('a')).toBe(unreadable('a', 'access to them is denied'));
  answers[`${secrets}/s`] = 503;
  // Failures are cached, too.
  expect(await made('a')).toBe(unreadable('a', 'access to them is denied'));
  await admission.on.clock.advance(1_000);
  expect(await made('a')).toMatch(/cannot be read: the server returned 503/);
});

test('ignores a failed read with failure policy Ignore', async () => {
  await start({ name: 's' }, { failurePolicy: 'Ignore' });
  answers[`${secrets}/s`] = 403;
  expect(await made('a')).toBe(201);
});

test('an unresponsive shard delays a write until the timeout', async () => {
  await start({ name: 's' });
  answers[`${secrets}/s`] = ({ signal }) =>
    new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
  const waiting = made('a');
  await admission.on.clock.advance(0);
  expect(requests).toContain(`${secrets}/s`);
  await admission.on.clock.advance(3_000);
  expect(await waiting).toBe(unreadable('a', 'request timed out'));
  // An immediate retry does not wait again.
  expect(await made('a')).toBe(unreadable('a', 'request timed out'));
});

test('names the missing flag if there is no transport to other shards', async () => {
  await start({ name: 's' }, { way: false });
  expect(await made('a')).toBe(
    unreadable('a', 'this shard has no --external-logical-cluster-admin-kubeconfig to reach others with'),
  );
});

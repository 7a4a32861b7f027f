import { request } from 'node:https';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { isJsonObject, parseJson, type Json, type JsonObject } from '@multiplane/apimachinery';
import { systemClock } from '@multiplane/component-base';
import { clientConfigOf, readKubeconfig, RestTransport } from '@multiplane/client';
import { EtcdServer, eventually, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const workspace = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces';
const settableLimits = [
  'core.kcp.io/max-total-objects',
  ...['bytes', 'definitions', 'schema-bytes', 'cel-cost-per-second'].map((name) => `limits.multiplane.dev/max-${name}`),
];
const inside = '/clusters/root:full';
const maps = `${inside}/api/v1/namespaces/default/configmaps`;

interface Answer {
  readonly status: number;
  readonly json: Json;
}

async function answerOf(
  transport: RestTransport,
  method: string,
  path: string,
  body?: object,
  contentType?: string,
): Promise<Answer> {
  const response = await transport.open({
    method,
    path,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(contentType === undefined ? {} : { contentType }),
  });
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode ?? 0, json: parseJson(Buffer.concat(chunks)) };
}

/** A shard whose process can be restarted on its data. */
class Restartable {
  readonly #flags: readonly string[];
  readonly #folder: TempDir;
  shard: InProcessShard;

  private constructor(flags: readonly string[], folder: TempDir, shard: InProcessShard) {
    this.#flags = flags;
    this.#folder = folder;
    this.shard = shard;
  }

  static async start(flags: readonly string[]): Promise<Restartable> {
    const folder = await TempDir.create('limits');
    return new Restartable(flags, folder, await InProcessShard.start(flags, folder));
  }

  async restart(): Promise<void> {
    await this.shard.stop();
    this.shard = await InProcessShard.start(this.#flags, this.#folder);
  }

  async stop(): Promise<void> {
    await this.shard[Symbol.asyncDispose]();
  }

  async send(method: string, path: string, body?: object, contentType?: string): Promise<Answer> {
    return await answerOf(this.shard.transport, method, path, body, contentType);
  }

  /** As an administrator without rights of the system, for whom rates are limited. */
  async sendAsTenant(method: string, path: string, body: object): Promise<Answer> {
    const file = this.#folder.join('root', 'admin.kubeconfig');
    const transport = new RestTransport({ config: clientConfigOf(readKubeconfig(file), file, 'base') });
    try {
      return await answerOf(transport, method, path, body);
    } finally {
      transport.close();
    }
  }

  /** A request in another workspace that stays in flight, because its body arrives slowly, until the result is disposed of. */
  holdRequest(): Disposable {
    const file = this.#folder.join('root', 'admin.kubeconfig');
    const { server, token } = clientConfigOf(readKubeconfig(file), file, 'shard-base');
    const held = request(`${server}/clusters/root/api/v1/namespaces/default/configmaps`, {
      method: 'POST',
      rejectUnauthorized: false,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    held.on('error', () => undefined);
    // Faster than the slowest body that is accepted.
    let timer = systemClock.after(0, () => undefined);
    const trickle = (): void => {
      held.write(' '.repeat(8 * 1024));
      timer = systemClock.after(500, trickle);
    };
    trickle();
    return {
      [Symbol.dispose]: () => {
        timer.cancel();
        held.destroy();
      },
    };
  }

  async used(): Promise<Record<string, number>> {
    const { json } = await this.send('GET', `${inside}/apis/limits.multiplane.dev/v1alpha1/workspaceusages/cluster`);
    return ((json as JsonObject)['status'] as JsonObject)['used'] as Record<string, number>;
  }

  /** Takes all limits of the Workspace back, after what was owed for CEL is paid. */
  async unlimit(): Promise<void> {
    await this.limit({ 'limits.multiplane.dev/max-cel-cost-per-second': '10000000' });
    await this.limit(Object.fromEntries(settableLimits.map((name) => [name, null])));
  }

  /** Sets limits on the Workspace, or takes all back, and waits until that is in force. */
  async limit(limits: Record<string, string | null>): Promise<void> {
    const merge = 'application/merge-patch+json';
    const { status } = await this.send('PATCH', `${workspace}/full`, { metadata: { annotations: limits } }, merge);
    if (status !== 200) throw new Error(`the annotation was answered with ${status}`);
    await eventually(async () => {
      const { json } = await this.send('GET', `${inside}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`);
      const annotations = ((json as JsonObject)['metadata'] as JsonObject)['annotations'] as Record<string, string>;
      const inherited = annotations['internal.limits.multiplane.dev/inherited'] ?? '';
      if (Object.values(limits).every((value) => value === null) && inherited !== '')
        throw new Error(`still inherited: ${inherited}`);
      for (const value of Object.values(limits))
        if (value !== null && !inherited.includes(`"max":${value}`)) throw new Error(`inherited: ${inherited}`);
    });
  }
}

const messageOf = (json: Json): string => (isJsonObject(json) ? (json['message'] as string) : '');
const crd = (name: string, description: string): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${name}s.example.com` },
  spec: {
    group: 'example.com',
    scope: 'Cluster',
    names: { plural: `${name}s`, singular: name, kind: name, listKind: `${name}List` },
    versions: [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', description } } },
    ],
  },
});
const crds = `${inside}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;

describe.each(['file', 'etcd'])('limits of a workspace on a shard with storage in %s', (backend) => {
  let etcd: EtcdServer | undefined;
  let on: Restartable;
  beforeAll(async () => {
    if (backend === 'etcd') etcd = await EtcdServer.start();
    on = await Restartable.start(etcd === undefined ? ['--storage-backend=file'] : [`--etcd-servers=${etcd.endpoint}`]);
    await on.send('POST', workspace, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name: 'full' },
      spec: { type: { name: 'universal', path: 'root' } },
    });
    await eventually(
      async () => {
        const { status } = await on.send('GET', `${maps}/kube-root-ca.crt`);
        if (status !== 200) throw new Error(`the workspace is not ready: ${status}`);
      },
      { timeout: 40_000 },
    );
  }, 120_000);
  afterAll(async () => {
    await on?.stop();
    await etcd?.[Symbol.asyncDispose]();
  });

  afterEach(() => on.unlimit());

  test('many creates at once store exactly what fits, and a restart does not forget it', async () => {
    const room = 50;
    const before = await on.used();
    await on.limit({ 'core.kcp.io/max-total-objects': String((before['objects'] ?? 0) + room) });
    const answers: number[] = [];
    const names = Array.from({ length: 300 }, (_, n) => `m${n}`);
    const client = async (): Promise<void> => {
      for (let name = names.pop(); name !== undefined; name = names.pop())
        answers.push((await on.send('POST', maps, { metadata: { name }, data: { name } })).status);
    };
    await Promise.all(Array.from({ length: 30 }, client));
    expect(answers.filter((status) => status === 201)).toHaveLength(room);
    expect(new Set(answers)).toEqual(new Set([201, 403]));
    const full = await on.used();
    await on.restart();
    expect((await on.send('POST', maps, { metadata: { name: 'late' } })).status).toBe(403);
    const { objects, definitions, events, schemaBytes } = full;
    expect(await on.used()).toMatchObject({ objects, definitions, events, schemaBytes });
    const stored = (await on.send('GET', maps)).json as { items: { metadata: { name: string } }[] };
    // The controller would create the ConfigMap of the root CA again.
    const name = stored.items.map(({ metadata }) => metadata.name).find((each) => /^m\d/.test(each));
    expect((await on.send('DELETE', `${maps}/${name}`)).status).toBe(200);
    expect((await on.send('POST', maps, { metadata: { name: 'late' } })).status).toBe(201);
    expect((await on.send('POST', maps, { metadata: { name: 'later' } })).status).toBe(403);
  }, 120_000);

  test('bytes: what makes the workspace larger is refused, what makes it smaller is not', async () => {
    expect((await on.send('POST', maps, { metadata: { name: 'big' }, data: { a: 'x'.repeat(20_000) } })).status).toBe(
      201,
    );
    await eventually(async () => expect((await on.used())['bytes']).toBeGreaterThan(20_000));
    const { bytes = 0 } = await on.used();
    await on.limit({ 'limits.multiplane.dev/max-bytes': String(bytes + 5_000) });
    const refused = await on.send('POST', maps, { metadata: { name: 'bigger' }, data: { a: 'x'.repeat(20_000) } });
    expect(refused.status).toBe(403);
    expect(messageOf(refused.json)).toMatch(
      /has reached its stored bytes limit, used: \d+, requested: \d+, limited: \d+; an administrator of workspace "root"/,
    );
    const merge = 'application/merge-patch+json';
    const grow = await on.send('PATCH', `${maps}/big`, { data: { b: 'x'.repeat(20_000) } }, merge);
    expect(grow.status).toBe(403);
    expect((await on.send('PATCH', `${maps}/big`, { data: { a: 'x' } }, merge)).status).toBe(200);
    await eventually(async () =>
      expect(
        (await on.send('POST', maps, { metadata: { name: 'bigger' }, data: { a: 'x'.repeat(20_000) } })).status,
      ).toBe(201),
    );
  }, 60_000);

  test('definitions: their number and their bytes', async () => {
    const { definitions = 0, schemaBytes = 0 } = await on.used();
    await on.limit({ 'limits.multiplane.dev/max-definitions': String(definitions + 1) });
    expect((await on.send('POST', crds, crd('one', ''))).status).toBe(201);
    await eventually(async () => expect((await on.used())['definitions']).toBe(definitions + 1));
    const second = await on.send('POST', crds, crd('two', ''));
    expect(second.status).toBe(403);
    expect(messageOf(second.json)).toContain('has reached its API definition count limit');
    await on.limit({
      'limits.multiplane.dev/max-definitions': '0',
      'limits.multiplane.dev/max-schema-bytes': String(schemaBytes + 20_000),
    });
    const large = await on.send('POST', crds, crd('two', 'x'.repeat(30_000)));
    expect(large.status).toBe(403);
    expect(messageOf(large.json)).toContain('has reached its API definition bytes limit');
    await eventually(async () => expect((await on.send('POST', crds, crd('two', ''))).status).toBe(201));
  }, 60_000);

  test('CEL: expressions beyond their cost per second are refused until it is paid off', async () => {
    const rule = 'self.items.all(x, self.items.all(y, x == y || x != y))';
    const schema = {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: { items: { type: 'array', maxItems: 100, items: { type: 'string', maxLength: 5 } } },
          'x-kubernetes-validations': [{ rule }],
        },
      },
    };
    const definition = crd('ruled', '');
    (definition['spec'] as JsonObject)['versions'] = [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } },
    ];
    expect((await on.send('POST', crds, definition)).status).toBe(201);
    const items = Array.from({ length: 60 }, (_, n) => `i${n}`);
    const ruleds = `${inside}/apis/example.com/v1/ruleds`;
    const create = (name: string, values: readonly string[] = items): ReturnType<Restartable['send']> =>
      on.sendAsTenant('POST', ruleds, {
        apiVersion: 'example.com/v1',
        kind: 'ruled',
        metadata: { name },
        spec: { items: values },
      });
    await eventually(async () => expect((await create('first', [])).status).toBe(201));
    await on.limit({ 'limits.multiplane.dev/max-cel-cost-per-second': '100' });
    // Without requests of others in flight it owes nothing.
    for (const name of ['second', 'third', 'fourth']) expect((await create(name)).status).toBe(201);
    using _neighbour = on.holdRequest();
    let count = 0;
    const refused = await eventually(async () => {
      const answer = await create(`more-${count++}`);
      expect(answer.status).toBe(429);
      return answer;
    });
    expect(messageOf(refused.json)).toMatch(
      /workspace "root:full" has reached its CEL cost per second limit, used: \d+, requested: 1, limited: 100; an administrator of workspace "root"/,
    );
    expect(((refused.json as JsonObject)['details'] as JsonObject)['retryAfterSeconds']).toBeGreaterThan(10);
    // Requests of system:masters are counted and not refused.
    await eventually(async () => {
      const body = {
        apiVersion: 'example.com/v1',
        kind: 'ruled',
        metadata: { generateName: 'more-' },
        spec: { items },
      };
      expect((await on.send('POST', ruleds, body)).status).toBe(201);
      const { requestsPerSecond, celCostPerSecond } = await on.used();
      expect(requestsPerSecond).toBeGreaterThanOrEqual(2);
      expect(celCostPerSecond).toBeGreaterThan(1_000);
    });
    // What has no rules is not affected.
    expect((await on.sendAsTenant('POST', maps, { metadata: { name: 'plain' } })).status).toBe(201);
  }, 60_000);

  /** True for every object, in some thousand steps. */
  const costly = 'object.data.all(x, object.data.all(y, x == y || x != y))';
  const spec = {
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
    },
  };
  const binding = { policyName: 'costly', validationActions: ['Deny'] };

  test.each([
    [
      'validations of a ValidatingAdmissionPolicy',
      [
        [
          'ValidatingAdmissionPolicy',
          'validatingadmissionpolicies',
          { spec: { ...spec, validations: [{ expression: costly }] } },
        ],
        ['ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings', { spec: binding }],
      ],
    ],
    [
      'the match conditions of a MutatingAdmissionPolicy',
      [
        [
          'MutatingAdmissionPolicy',
          'mutatingadmissionpolicies',
          {
            spec: {
              ...spec,
              reinvocationPolicy: 'Never',
              matchConditions: [{ name: 'costly', expression: `!(${costly})` }],
              mutations: [
                {
                  patchType: 'JSONPatch',
                  jsonPatch: { expression: '[JSONPatch{op: "add", path: "/data/x", value: "y"}]' },
                },
              ],
            },
          },
        ],
        ['MutatingAdmissionPolicyBinding', 'mutatingadmissionpolicybindings', { spec: { policyName: 'costly' } }],
      ],
    ],
    [
      'the match conditions of a webhook',
      [
        [
          'ValidatingWebhookConfiguration',
          'validatingwebhookconfigurations',
          {
            webhooks: [
              {
                name: 'costly.example.com',
                clientConfig: { url: 'https://192.0.2.1/never' },
                rules: spec.matchConstraints.resourceRules,
                matchConditions: [{ name: 'costly', expression: `!(${costly})` }],
                failurePolicy: 'Ignore',
                sideEffects: 'None',
                admissionReviewVersions: ['v1'],
              },
            ],
          },
        ],
      ],
    ],
  ] as const)(
    'CEL: %s count',
    async (_what, configurations) => {
      const group = `${inside}/apis/admissionregistration.k8s.io/v1`;
      for (const [kind, resource, content] of configurations) {
        const body = { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name: 'costly' }, ...content };
        const { status, json } = await on.send('POST', `${group}/${resource}`, body);
        expect([status, messageOf(json) ?? '']).toEqual([201, '']);
      }
      const data = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`k${n}`, 'v']));
      const create = (): ReturnType<Restartable['send']> =>
        on.sendAsTenant('POST', maps, { metadata: { generateName: 'costly-' }, data });
      expect((await create()).status).toBe(201);
      await on.limit({ 'limits.multiplane.dev/max-cel-cost-per-second': '100' });
      using _neighbour = on.holdRequest();
      const refused = await eventually(async () => {
        const answer = await create();
        expect(answer.status).toBe(429);
        return answer;
      });
      expect(messageOf(refused.json)).toMatch(
        /has reached its CEL cost per second limit, used: \d+, requested: 1, limited: 100; an administrator of workspace "root" can raise it by the annotation limits.multiplane.dev\/max-cel-cost-per-second of the Workspace/,
      );
      const secrets = maps.replace('configmaps', 'secrets');
      expect((await on.sendAsTenant('POST', secrets, { metadata: { generateName: 'free-' } })).status).toBe(201);
      for (const [, resource] of configurations) await on.send('DELETE', `${group}/${resource}/costly`);
      await eventually(async () => expect((await create()).status).toBe(201));
    },
    60_000,
  );
});

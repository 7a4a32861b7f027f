import { describe, expect, test } from '@jest/globals';
import { fieldErrors, statusErrors, type JsonObject, type UserInfo } from '@multiplane/apimachinery';
import { kcpResources } from '@multiplane/apis';
import { locateResource } from '@multiplane/apiserver';
import { type Exchange, writeStatusError } from '@multiplane/generic-server';
import { ForwardedResource, type ForwardedResourceOptions } from './forwarded-resource.ts';
import { sendRequest, type UpstreamRequest, type ShardConnection } from './shard-connection.ts';
import { TestExchange, testContext } from '../test/test-exchange.ts';

const ann: UserInfo = { name: 'ann', uid: '', groups: ['team'], extra: {} };
const definition = kcpResources().find(({ resource }) => resource === 'logicalclusters')!;
const objectUrl = '/clusters/abc/apis/core.kcp.io/v1alpha1/logicalclusters/cluster';

/** A shard with one object; it supports merge patches of its status, and PUT. */
class TestShard implements ShardConnection {
  readonly requests: string[] = [];
  readonly users: (string | undefined)[] = [];
  object: JsonObject;
  /** Called before a write is applied, so that a test can simulate a concurrent write. */
  onWrite: (() => void) | undefined;
  /** Changes the result of a dry-run write. */
  onDry: ((updated: JsonObject) => JsonObject) | undefined;
  /** The object does not exist. */
  missing = false;
  readonly bodies: string[] = [];
  constructor(object: JsonObject) {
    this.object = object;
  }

  async forward(exchange: Exchange, { url, user }: UpstreamRequest): Promise<void> {
    this.requests.push(`${exchange.method} ${url}`);
    this.users.push(user?.name);
    const body = (await exchange.readBody(1_000_000)).toString();
    this.bodies.push(body);
    if (this.missing && exchange.method === 'GET')
      return writeStatusError(
        { exchange, info: { query: new URLSearchParams() } },
        statusErrors.notFound(definition, 'cluster'),
      );
    if (exchange.method === 'GET' || exchange.method === 'DELETE') return respondWith(exchange, this.object);
    const sent = JSON.parse(body) as JsonObject;
    const dry = url.includes('dryRun=All');
    if (!dry) this.onWrite?.();
    const version = (this.object['metadata'] as JsonObject)['resourceVersion'];
    const wanted = (sent['metadata'] as JsonObject | undefined)?.['resourceVersion'];
    if (wanted !== undefined && wanted !== version) {
      const conflict = statusErrors.conflict(
        { group: 'core.kcp.io', resource: 'logicalclusters' },
        'cluster',
        'changed',
      );
      return writeStatusError({ exchange, info: { query: new URLSearchParams() } }, conflict);
    }
    const status = { ...(this.object['status'] as JsonObject), ...(sent['status'] as JsonObject) };
    const updated = { ...this.object, status };
    if (!dry) this.object = withVersion(updated, Number(version) + 1);
    return respondWith(exchange, dry ? (this.onDry?.(updated) ?? updated) : this.object);
  }
}

const withVersion = (object: JsonObject, version: number): JsonObject => ({
  ...object,
  metadata: { ...(object['metadata'] as JsonObject), resourceVersion: String(version) },
});
function respondWith(exchange: Exchange, object: JsonObject): void {
  exchange.setHeader('content-type', 'application/json');
  exchange.respond(200, JSON.stringify(object));
}

const stored = (labels: JsonObject = { wanted: 'yes' }): JsonObject => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'LogicalCluster',
  metadata: { name: 'cluster', resourceVersion: '7', labels },
  status: { phase: 'Initializing', initializers: ['a:b', 'a:c'] },
});

interface TestRequest {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** Sends a request to a ForwardedResource; errors become Status responses. */
async function send(
  shard: TestShard,
  { method = 'GET', url = objectUrl, headers = {}, body }: TestRequest,
  options: Partial<ForwardedResourceOptions> = {},
): Promise<TestExchange> {
  const exchange = new TestExchange(method, url, headers, body === undefined ? '' : JSON.stringify(body));
  const context = testContext(exchange, ann);
  const resource = new ForwardedResource(
    { definition, labelSelector: 'wanted=yes', ...options },
    { connection: shard },
  );
  try {
    const request = locateResource({ resolve: () => definition, isBuiltInGroup: () => false }, context);
    if (request === undefined) throw statusErrors.unknownResource();
    await resource.handle(request);
  } catch (error) {
    writeStatusError(context, error as ReturnType<typeof statusErrors.unknownResource>);
  }
  return exchange;
}

const list = '/apis/core.kcp.io/v1alpha1/logicalclusters';

describe('ForwardedResource', () => {
  test('adds its label selector to that of the client in LIST and WATCH', async () => {
    const shard = new TestShard(stored());
    await send(shard, { url: `/clusters/*${list}` });
    await send(shard, { url: `/clusters/*${list}?labelSelector=a%3Db&watch=1&resourceVersion=5` });
    expect(shard.requests.map(decodeURIComponent)).toEqual([
      `GET /clusters/*${list}?labelSelector=wanted=yes`,
      `GET /clusters/*${list}?labelSelector=wanted=yes,a=b&watch=true&resourceVersion=5`,
    ]);
    expect(shard.users).toEqual(['ann', 'ann']);
  });

  test('turns a watch by name into a field selector, so that the label selector applies', async () => {
    const shard = new TestShard(stored({ wanted: 'no' }));
    await send(shard, { url: `/clusters/abc/apis/core.kcp.io/v1alpha1/watch/logicalclusters/cluster` });
    expect(shard.requests.map(decodeURIComponent)).toEqual([
      `GET /clusters/abc${list}?labelSelector=wanted=yes&fieldSelector=metadata.name=cluster&watch=true`,
    ]);
  });

  test('serves no single objects across all logical clusters', async () => {
    const shard = new TestShard(stored());
    expect((await send(shard, { url: `/clusters/*${list}/cluster` })).status).toBe(404);
    expect(shard.requests).toEqual([]);
  });

  test('asks for tables with the name only where a schema declares no columns', async () => {
    const shard = new TestShard(stored());
    const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    await send(shard, { url: `/clusters/abc${list}`, headers: table }, { hasNameColumnOnly: true });
    await send(shard, { url: `/clusters/abc${list}` }, { hasNameColumnOnly: true });
    expect(shard.requests.map(decodeURIComponent)).toEqual([
      `GET /clusters/abc${list}?labelSelector=wanted=yes&virtualView=nameColumn`,
      `GET /clusters/abc${list}?labelSelector=wanted=yes`,
    ]);
  });

  test('reads an object once, with the labels that it must have, in every media type', async () => {
    const shard = new TestShard(stored());
    const shown = await send(shard, {});
    expect([shown.status, (JSON.parse(shown.body) as JsonObject)['kind']]).toEqual([200, 'LogicalCluster']);
    const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    // The client's own value is replaced.
    await send(shard, { url: `${objectUrl}?requiredLabels=x&resourceVersion=0`, headers: { accept: table } });
    expect(shard.requests.map(decodeURIComponent)).toEqual([
      `GET ${objectUrl}?requiredLabels=wanted=yes`,
      `GET ${objectUrl}?requiredLabels=wanted=yes&resourceVersion=0`,
    ]);
  });

  test('hides objects by a rule that is no selector', async () => {
    const shard = new TestShard(stored());
    const hidden = await send(shard, {}, { isVisible: () => false });
    expect([hidden.status, JSON.parse(hidden.body)]).toMatchObject([
      404,
      { message: 'logicalclusters.core.kcp.io "cluster" not found' },
    ]);
    expect(shard.requests).toEqual([`GET ${objectUrl}`]);
  });

  test('forwards as the upstream user', async () => {
    const shard = new TestShard(stored());
    await send(shard, {}, { upstreamUser: ({ name }) => ({ ...ann, name: `for ${name}` }) });
    expect(shard.users).toEqual(['for ann']);
  });
});

describe('a write under rules that require labels', () => {
  const rules: Partial<ForwardedResourceOptions> = {
    writeRulesFor: () =>
      Promise.resolve({
        mutate: (object) => {
          const metadata = object['metadata'] as JsonObject;
          const labels = (metadata['labels'] ?? {}) as JsonObject;
          if ('share' in labels && labels['share'] !== 'yes') throw statusErrors.badRequest('must share');
          return { ...object, metadata: { ...metadata, labels: { ...labels, share: 'yes' } } };
        },
        validate: (object) => {
          const { labels } = object['metadata'] as { labels?: JsonObject };
          if (labels?.['share'] !== 'yes') throw statusErrors.badRequest('does not share');
        },
      }),
  };
  const sharing = (): TestShard => new TestShard(stored({ wanted: 'yes', share: 'yes' }));
  const written = (shard: TestShard): JsonObject => JSON.parse(shard.bodies.at(-1) ?? '{}') as JsonObject;

  test('adds the labels to created objects', async () => {
    const shard = sharing();
    const body = { ...stored({ mine: '1' }), metadata: { name: 'new', labels: { mine: '1' } } };
    await send(shard, { method: 'POST', url: `/clusters/abc${list}`, body }, rules);
    expect(written(shard)['metadata']).toEqual({ name: 'new', labels: { mine: '1', share: 'yes' } });
    const refused = await send(
      shard,
      {
        method: 'POST',
        url: `/clusters/abc${list}`,
        body: { ...body, metadata: { name: 'new', labels: { share: 'no' } } },
      },
      rules,
    );
    expect(refused.status).toBe(400);
  });

  test('rejects a body that is not an object', async () => {
    const shard = sharing();
    const refused = await send(shard, { method: 'POST', url: `/clusters/abc${list}`, body: [1] }, rules);
    expect([refused.status, shard.requests]).toEqual([400, []]);
  });

  test('restores labels that a patch removes', async () => {
    const shard = sharing();
    shard.onDry = (updated) => ({ ...updated, metadata: { ...(updated['metadata'] as JsonObject), labels: {} } });
    await send(
      shard,
      {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { metadata: { labels: null } },
      },
      rules,
    );
    expect(shard.requests.at(-1)).toBe(`PUT ${objectUrl}`);
    expect(written(shard)['metadata']).toMatchObject({ labels: { share: 'yes' } });
  });

  test('rejects the deletion of an object without them', async () => {
    const shard = new TestShard(stored({ wanted: 'yes' }));
    expect((await send(shard, { method: 'DELETE' }, rules)).status).toBe(400);
    expect(shard.requests).toEqual([`GET ${objectUrl}`]);
  });

  test('creates a missing object by apply, if the caller is allowed to', async () => {
    const shard = sharing();
    shard.missing = true;
    const apply: TestRequest = {
      method: 'PATCH',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: { metadata: { name: 'cluster' } },
    };
    const mayNot: Partial<ForwardedResourceOptions> = {
      authorizeCreate: () => Promise.reject(statusErrors.forbidden(definition, 'cluster', 'may not')),
    };
    expect((await send(shard, apply, { ...rules, ...mayNot })).status).toBe(403);
    expect((await send(shard, apply, { ...mayNot, labelSelector: undefined })).status).toBe(403);
    await send(shard, apply, { ...rules, authorizeCreate: () => Promise.resolve() });
    expect(shard.requests.at(-1)).toBe(`PATCH ${objectUrl}`);
    expect(written(shard)['metadata']).toEqual({ name: 'cluster', labels: { share: 'yes' } });
  });
});

const gone = statusErrors.expired('scope "a" was deleted');
const goneEvent = `${JSON.stringify({ type: 'ERROR', object: gone.toStatus() })}\n`;

test.each([
  { why: 'its client reconnects', reason: undefined, type: 'application/json', sent: '{"type":"ADDED"}\n', last: '' },
  { why: 'with an error', reason: gone, type: 'application/json', sent: '{"type":"ADDED"}\n', last: goneEvent },
  { why: 'before its first event', reason: gone, type: 'application/json', sent: '', last: goneEvent },
  { why: 'within an event', reason: gone, type: 'application/json', sent: '{"type":"ADD', last: '' },
  { why: 'of frames', reason: gone, type: 'application/vnd.kubernetes.protobuf', sent: '\n', last: '' },
])('a watch ends when the served definition changes: $why', async ({ reason, type, sent, last }) => {
  const retired = new AbortController();
  const stream: ShardConnection = {
    forward: (exchange) => {
      exchange.setHeader('content-type', type);
      exchange.start(200);
      exchange.write(Buffer.from(sent));
      retired.abort(reason);
      return Promise.resolve();
    },
  };
  const exchange = new TestExchange('GET', `/clusters/*${list}?watch=1`);
  const resource = new ForwardedResource({ definition, retired: retired.signal }, { connection: stream });
  const context = testContext(exchange, ann);
  await resource.handle(locateResource({ resolve: () => definition, isBuiltInGroup: () => false }, context)!);
  expect([exchange.body, exchange.ended]).toEqual([`${sent}${last}`, true]);
});

describe('a write with an update rule', () => {
  const keepsPhase: Partial<ForwardedResourceOptions> = {
    updateRule: ({ old, updated }) => {
      const phase = (object: JsonObject): unknown => (object['status'] as JsonObject)['phase'];
      if (phase(old) !== phase(updated))
        throw statusErrors.invalid({ group: 'core.kcp.io', kind: 'LogicalCluster' }, 'cluster', [
          fieldErrors.invalid('status.phase', phase(updated), 'not yours'),
        ]);
    },
  };
  const patch = (status: JsonObject): TestRequest => ({
    method: 'PATCH',
    url: `${objectUrl}/status`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { status },
  });

  test('is sent when the rule accepts the object that would be stored', async () => {
    const shard = new TestShard(stored());
    const { status, body } = await send(shard, patch({ initializers: ['a:c'] }), keepsPhase);
    expect([status, (JSON.parse(body) as JsonObject)['status']]).toEqual([
      200,
      { phase: 'Initializing', initializers: ['a:c'] },
    ]);
    expect(shard.requests).toEqual([
      `GET ${objectUrl}`,
      `PATCH ${objectUrl}/status?dryRun=All`,
      `PUT ${objectUrl}/status`,
    ]);
  });

  test('is not sent when the rule rejects it, whatever the patch type', async () => {
    const shard = new TestShard(stored());
    const refused = await send(shard, patch({ phase: 'Ready' }), keepsPhase);
    expect([refused.status, JSON.parse(refused.body)]).toMatchObject([
      422,
      { message: 'LogicalCluster.core.kcp.io "cluster" is invalid: status.phase: Invalid value: "Ready": not yours' },
    ]);
    expect(shard.object).toEqual(stored());
  });

  test('is retried after a conflict with the current object', async () => {
    const shard = new TestShard(stored());
    let others = 1;
    shard.onWrite = () => {
      if (others-- > 0) shard.object = withVersion({ ...shard.object, status: { phase: 'Ready' } }, 8);
    };
    const { status, body } = await send(shard, patch({ initializers: [] }), keepsPhase);
    expect([status, (JSON.parse(body) as JsonObject)['status']]).toEqual([200, { phase: 'Ready', initializers: [] }]);
  });

  test('returns the conflict to a PUT', async () => {
    const shard = new TestShard(stored());
    shard.onWrite = () => (shard.object = withVersion(shard.object, 8));
    const put = await send(
      shard,
      { method: 'PUT', url: `${objectUrl}/status`, headers: { 'content-type': 'application/json' }, body: stored() },
      keepsPhase,
    );
    expect(put.status).toBe(409);
  });

  test('returns 404 for an object that is not visible', async () => {
    const shard = new TestShard(stored({ wanted: 'no' }));
    expect((await send(shard, patch({ initializers: [] }), keepsPhase)).status).toBe(404);
    expect(shard.requests).toEqual([`GET ${objectUrl}`]);
  });

  test('is not stored if the client requested a dry run', async () => {
    const shard = new TestShard(stored());
    const tried = await send(
      shard,
      { ...patch({ initializers: [] }), url: `${objectUrl}/status?dryRun=All` },
      keepsPhase,
    );
    expect(tried.status).toBe(200);
    expect(shard.object).toEqual(stored());
  });
});

test('requests on behalf of a client do not carry its connection', async () => {
  const seen: boolean[] = [];
  const shard = new TestShard(stored());
  const watching: ShardConnection = {
    forward: (exchange, onward) => {
      seen.push(exchange.socket.destroyed);
      return shard.forward(exchange, onward);
    },
  };
  const parent = new TestExchange('GET', objectUrl);
  Object.assign(parent, { socket: { destroyed: false, remoteAddress: '::1' } });
  const { status } = await sendRequest(watching, parent, { url: objectUrl }, { method: 'GET' });
  expect([status, seen]).toEqual([200, [true]]);
});

import { describe, expect, test } from '@jest/globals';
import { fieldErrors, statusErrors, type JsonObject, type UserInfo } from '@multiplane/apimachinery';
import { kcpResources } from '@multiplane/apis';
import { locateResource, writeStatusError, type Exchange } from '@multiplane/apiserver';
import { ForwardedResource, type ForwardedResourceOptions } from './forwarded-resource.ts';
import { request, type Onward, type ShardConnection } from './shard-connection.ts';
import { TestExchange, testContext } from './test-support/test-exchange.ts';

const ann: UserInfo = { name: 'ann', uid: '', groups: ['team'], extra: {} };
const definition = kcpResources().find(({ resource }) => resource === 'logicalclusters')!;
const objectUrl = '/clusters/abc/apis/core.kcp.io/v1alpha1/logicalclusters/cluster';

/** A shard with one object, which understands merge patches of its status and PUTs of it. */
class TestShard implements ShardConnection {
  readonly asked: string[] = [];
  readonly users: (string | undefined)[] = [];
  object: JsonObject;
  /** Called before a write is judged: somebody else may be faster. */
  onWrite: (() => void) | undefined;
  /** What a write that is only tried would make of the object. */
  onDry: ((updated: JsonObject) => JsonObject) | undefined;
  /** There is no object. */
  missing = false;
  readonly bodies: string[] = [];
  constructor(object: JsonObject) {
    this.object = object;
  }

  async forward(exchange: Exchange, { url, user }: Onward): Promise<void> {
    this.asked.push(`${exchange.method} ${url}`);
    this.users.push(user?.name);
    const body = (await exchange.readBody(1_000_000)).toString();
    this.bodies.push(body);
    if (this.missing && exchange.method === 'GET')
      return writeStatusError(
        { exchange, info: { query: new URLSearchParams() } },
        statusErrors.notFound(definition, 'cluster'),
      );
    if (exchange.method === 'GET' || exchange.method === 'DELETE') return answer(exchange, this.object);
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
    return answer(exchange, dry ? (this.onDry?.(updated) ?? updated) : this.object);
  }
}

const withVersion = (object: JsonObject, version: number): JsonObject => ({
  ...object,
  metadata: { ...(object['metadata'] as JsonObject), resourceVersion: String(version) },
});
function answer(exchange: Exchange, object: JsonObject): void {
  exchange.setHeader('content-type', 'application/json');
  exchange.respond(200, JSON.stringify(object));
}

const stored = (labels: JsonObject = { wanted: 'yes' }): JsonObject => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'LogicalCluster',
  metadata: { name: 'cluster', resourceVersion: '7', labels },
  status: { phase: 'Initializing', initializers: ['a:b', 'a:c'] },
});

interface Asked {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** Asks a view over the shard; errors are answered as the chain does. */
async function ask(
  shard: TestShard,
  { method = 'GET', url = objectUrl, headers = {}, body }: Asked,
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

describe('a view over the objects of a shard', () => {
  test('lists and watches with its labels beside those of the client', async () => {
    const shard = new TestShard(stored());
    await ask(shard, { url: `/clusters/*${list}` });
    await ask(shard, { url: `/clusters/*${list}?labelSelector=a%3Db&watch=1&resourceVersion=5` });
    expect(shard.asked.map(decodeURIComponent)).toEqual([
      `GET /clusters/*${list}?labelSelector=wanted=yes`,
      `GET /clusters/*${list}?labelSelector=wanted=yes,a=b&watch=true&resourceVersion=5`,
    ]);
    expect(shard.users).toEqual(['ann', 'ann']);
  });

  test('watches one object by its name as a field, for a read of it would show what no label selects', async () => {
    const shard = new TestShard(stored({ wanted: 'no' }));
    await ask(shard, { url: `/clusters/abc/apis/core.kcp.io/v1alpha1/watch/logicalclusters/cluster` });
    expect(shard.asked.map(decodeURIComponent)).toEqual([
      `GET /clusters/abc${list}?labelSelector=wanted=yes&fieldSelector=metadata.name=cluster&watch=true`,
    ]);
  });

  test('has no single objects over all logical clusters', async () => {
    const shard = new TestShard(stored());
    expect((await ask(shard, { url: `/clusters/*${list}/cluster` })).status).toBe(404);
    expect(shard.asked).toEqual([]);
  });

  test('shows an object with its labels, and no other', async () => {
    const shown = await ask(new TestShard(stored()), {});
    expect([shown.status, (JSON.parse(shown.body) as JsonObject)['kind']]).toEqual([200, 'LogicalCluster']);
    const hidden = await ask(new TestShard(stored({ wanted: 'no' })), {});
    expect([hidden.status, JSON.parse(hidden.body)]).toMatchObject([
      404,
      { message: 'logicalclusters.core.kcp.io "cluster" not found' },
    ]);
    const other = await ask(new TestShard(stored()), {}, { holds: () => false });
    expect(other.status).toBe(404);
  });

  test('asks the shard for every form of an object that it cannot make itself', async () => {
    const shard = new TestShard(stored());
    await ask(shard, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } });
    expect(shard.asked).toEqual([`GET ${objectUrl}`, `GET ${objectUrl}`]);
  });

  test('asks in the name that it is told to use', async () => {
    const shard = new TestShard(stored());
    await ask(shard, {}, { actingAs: ({ name }) => ({ ...ann, name: `for ${name}` }) });
    expect(shard.users).toEqual(['for ann']);
  });
});

describe('a write through a view that asks for labels', () => {
  const rules: Partial<ForwardedResourceOptions> = {
    rulesFor: () =>
      Promise.resolve({
        complete: (object) => {
          const metadata = object['metadata'] as JsonObject;
          const labels = (metadata['labels'] ?? {}) as JsonObject;
          if ('share' in labels && labels['share'] !== 'yes') throw statusErrors.badRequest('must share');
          return { ...object, metadata: { ...metadata, labels: { ...labels, share: 'yes' } } };
        },
        require: (object) => {
          const { labels } = object['metadata'] as { labels?: JsonObject };
          if (labels?.['share'] !== 'yes') throw statusErrors.badRequest('does not share');
        },
      }),
  };
  const sharing = (): TestShard => new TestShard(stored({ wanted: 'yes', share: 'yes' }));
  const written = (shard: TestShard): JsonObject => JSON.parse(shard.bodies.at(-1) ?? '{}') as JsonObject;

  test('creates objects that have them', async () => {
    const shard = sharing();
    const body = { ...stored({ mine: '1' }), metadata: { name: 'new', labels: { mine: '1' } } };
    await ask(shard, { method: 'POST', url: `/clusters/abc${list}`, body }, rules);
    expect(written(shard)['metadata']).toEqual({ name: 'new', labels: { mine: '1', share: 'yes' } });
    const refused = await ask(
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

  test('refuses what was sent and is no object', async () => {
    const shard = sharing();
    const refused = await ask(shard, { method: 'POST', url: `/clusters/abc${list}`, body: [1] }, rules);
    expect([refused.status, shard.asked]).toEqual([400, []]);
  });

  test('puts them back where a patch takes them away', async () => {
    const shard = sharing();
    shard.onDry = (updated) => ({ ...updated, metadata: { ...(updated['metadata'] as JsonObject), labels: {} } });
    await ask(
      shard,
      {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { metadata: { labels: null } },
      },
      rules,
    );
    expect(shard.asked.at(-1)).toBe(`PUT ${objectUrl}`);
    expect(written(shard)['metadata']).toMatchObject({ labels: { share: 'yes' } });
  });

  test('an object without them is not deleted', async () => {
    const shard = new TestShard(stored({ wanted: 'yes' }));
    expect((await ask(shard, { method: 'DELETE' }, rules)).status).toBe(400);
    expect(shard.asked).toEqual([`GET ${objectUrl}`]);
  });

  test('what is applied to nothing is created, if the caller may', async () => {
    const shard = sharing();
    shard.missing = true;
    const apply: Asked = {
      method: 'PATCH',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: { metadata: { name: 'cluster' } },
    };
    const mayNot: Partial<ForwardedResourceOptions> = {
      mayCreate: () => Promise.reject(statusErrors.forbidden(definition, 'cluster', 'may not')),
    };
    expect((await ask(shard, apply, { ...rules, ...mayNot })).status).toBe(403);
    expect((await ask(shard, apply, { ...mayNot, labelSelector: undefined })).status).toBe(403);
    await ask(shard, apply, { ...rules, mayCreate: () => Promise.resolve() });
    expect(shard.asked.at(-1)).toBe(`PATCH ${objectUrl}`);
    expect(written(shard)['metadata']).toEqual({ name: 'cluster', labels: { share: 'yes' } });
  });
});

test('a watch ends when its resource is served otherwise', async () => {
  const retired = new AbortController();
  const stream: ShardConnection = {
    forward: (exchange) => {
      exchange.start(200);
      exchange.write(Buffer.from('{"type":"ADDED"}'));
      retired.abort();
      return Promise.resolve();
    },
  };
  const exchange = new TestExchange('GET', `/clusters/*${list}?watch=1`);
  const resource = new ForwardedResource({ definition, retired: retired.signal }, { connection: stream });
  const context = testContext(exchange, ann);
  await resource.handle(locateResource({ resolve: () => definition, isBuiltInGroup: () => false }, context)!);
  expect([exchange.body, exchange.ended]).toEqual(['{"type":"ADDED"}', true]);
});

describe('a write through a view with a rule', () => {
  const keepsPhase: Partial<ForwardedResourceOptions> = {
    mayUpdate: ({ old, updated }) => {
      const phase = (object: JsonObject): unknown => (object['status'] as JsonObject)['phase'];
      if (phase(old) !== phase(updated))
        throw statusErrors.invalid({ group: 'core.kcp.io', kind: 'LogicalCluster' }, 'cluster', [
          fieldErrors.invalid('status.phase', phase(updated), 'not yours'),
        ]);
    },
  };
  const patch = (status: JsonObject): Asked => ({
    method: 'PATCH',
    url: `${objectUrl}/status`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { status },
  });

  test('is made when the rule agrees with what would be stored', async () => {
    const shard = new TestShard(stored());
    const { status, body } = await ask(shard, patch({ initializers: ['a:c'] }), keepsPhase);
    expect([status, (JSON.parse(body) as JsonObject)['status']]).toEqual([
      200,
      { phase: 'Initializing', initializers: ['a:c'] },
    ]);
    expect(shard.asked).toEqual([
      `GET ${objectUrl}`,
      `PATCH ${objectUrl}/status?dryRun=All`,
      `PUT ${objectUrl}/status`,
    ]);
  });

  test('is not made when it disagrees, whatever the client sent', async () => {
    const shard = new TestShard(stored());
    const refused = await ask(shard, patch({ phase: 'Ready' }), keepsPhase);
    expect([refused.status, JSON.parse(refused.body)]).toMatchObject([
      422,
      { message: 'LogicalCluster.core.kcp.io "cluster" is invalid: status.phase: Invalid value: "Ready": not yours' },
    ]);
    expect(shard.object).toEqual(stored());
  });

  test('starts over when somebody else was faster, and is judged by what is there then', async () => {
    const shard = new TestShard(stored());
    let others = 1;
    shard.onWrite = () => {
      if (others-- > 0) shard.object = withVersion({ ...shard.object, status: { phase: 'Ready' } }, 8);
    };
    const { status, body } = await ask(shard, patch({ initializers: [] }), keepsPhase);
    expect([status, (JSON.parse(body) as JsonObject)['status']]).toEqual([200, { phase: 'Ready', initializers: [] }]);
  });

  test('as a whole object is told of the conflict instead', async () => {
    const shard = new TestShard(stored());
    shard.onWrite = () => (shard.object = withVersion(shard.object, 8));
    const put = await ask(
      shard,
      { method: 'PUT', url: `${objectUrl}/status`, headers: { 'content-type': 'application/json' }, body: stored() },
      keepsPhase,
    );
    expect(put.status).toBe(409);
  });

  test('of an object that is not in the view is a write of nothing', async () => {
    const shard = new TestShard(stored({ wanted: 'no' }));
    expect((await ask(shard, patch({ initializers: [] }), keepsPhase)).status).toBe(404);
    expect(shard.asked).toEqual([`GET ${objectUrl}`]);
  });

  test('that is only tried is not made', async () => {
    const shard = new TestShard(stored());
    const tried = await ask(
      shard,
      { ...patch({ initializers: [] }), url: `${objectUrl}/status?dryRun=All` },
      keepsPhase,
    );
    expect(tried.status).toBe(200);
    expect(shard.object).toEqual(stored());
  });
});

test('nobody becomes known by what is asked on their behalf', async () => {
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
  const { status } = await request(watching, parent, { url: objectUrl }, { method: 'GET' });
  expect([status, seen]).toEqual([200, [true]]);
});

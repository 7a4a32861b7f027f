import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { turnsDuring } from '@multiplane/testing';
import type { JsonObject } from '@multiplane/apimachinery';
import { builtInResources, defaultStrategy, type ResourceDefinition } from '@multiplane/apis';
import type { Exchange } from '@multiplane/generic-server';
import { MemoryExchange, memoryContext } from '../../test/memory-exchange.ts';
import { openapiHandler } from './openapi-handler.ts';

function definition(group: string, kind: string, hash: string, spec: JsonObject): ResourceDefinition {
  const resource = `${kind.toLowerCase()}s`;
  return {
    group,
    version: 'v1',
    resource,
    singular: kind.toLowerCase(),
    kind,
    listKind: `${kind}List`,
    namespaced: true,
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    origin: 'custom',
    strategy: defaultStrategy(),
    subresources: {},
    fieldSelectors: {},
    schema: { hash, source: { type: 'object', properties: { spec } } },
  } as unknown as ResourceDefinition;
}

const number: JsonObject = { type: 'object', properties: { n: { description: 'a number', type: 'integer' } } };
const widget = definition('g.example.com', 'Widget', '1', number);

let clusters: Record<string, readonly ResourceDefinition[]>;
let handler: ReturnType<typeof openapiHandler>;
beforeEach(() => {
  clusters = { a: [...builtInResources(), widget], b: builtInResources() };
  handler = openapiHandler(
    { version: 'v1.36.0' },
    {
      resolver: {
        resolve: () => undefined,
        list: (cluster) => clusters[cluster] ?? [],
        discoveryHash: (cluster) =>
          (clusters[cluster] ?? []).map(({ resource, schema }) => `${resource} ${schema.hash}`).join(),
        isBuiltInGroup: () => false,
      },
    },
  );
});

async function ask(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<MemoryExchange> {
  const exchange = new MemoryExchange(method, url, headers);
  await handler(memoryContext(exchange));
  return exchange;
}
async function urlOf(cluster: string, path: string): Promise<string> {
  const index = JSON.parse((await ask(`/clusters/${cluster}/openapi/v3`)).body) as {
    paths: Record<string, { serverRelativeURL: string }>;
  };
  return index.paths[path]?.serverRelativeURL ?? '';
}

interface Document {
  openapi: string;
  paths: Record<string, Record<string, Record<string, unknown>>>;
  components: { schemas: Record<string, { properties: Record<string, unknown> }> };
}

describe('OpenAPI v3', () => {
  test('the index lists each document', async () => {
    const url = await urlOf('a', 'apis/g.example.com/v1');
    expect(url).toMatch(/^\/openapi\/v3\/apis\/g\.example\.com\/v1\?hash=[0-9A-F]{128}$/);
    expect(await urlOf('b', 'apis/g.example.com/v1')).toBe('');
    const before = Date.now();
    const answer = await ask(`/clusters/a${url}`);
    expect(answer.status).toBe(200);
    expect(answer.answer).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'public, immutable',
      vary: 'Accept',
      etag: `"${url.split('hash=')[1] ?? ''}"`,
    });
    expect(new Date(String(answer.answer['expires'])).getTime()).toBeGreaterThan(before + 364 * 24 * 3600 * 1000);
    const document = JSON.parse(answer.body) as Document;
    expect(document.openapi).toBe('3.0.0');
    const schema = document.components.schemas['com.example.g.v1.Widget'];
    expect(schema?.properties['spec']).toEqual(number);
    expect(schema).toMatchObject({
      'x-kubernetes-group-version-kind': [{ group: 'g.example.com', kind: 'Widget', version: 'v1' }],
    });
    expect(document.components.schemas['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta']).toBeDefined();
    expect(document.paths['/apis/g.example.com/v1/namespaces/{namespace}/widgets/{name}']?.['patch']).toMatchObject({
      'x-kubernetes-action': 'patch',
    });
  });

  test('groups of Kubernetes have a document; in a virtual workspace each group has, and no issuer of tokens', async () => {
    const paths = async (): Promise<string[]> => {
      const { body } = await ask('/clusters/a/openapi/v3');
      return Object.keys((JSON.parse(body) as { paths: object }).paths);
    };
    const native = ['apis/rbac.authorization.k8s.io', '.well-known/openid-configuration', 'openid/v1/jwks'];
    expect(await paths()).toEqual(expect.arrayContaining(native));
    expect(await paths()).not.toContain('apis/g.example.com');
    const group = JSON.parse(
      (await ask(`/clusters/a${await urlOf('a', 'apis/rbac.authorization.k8s.io')}`)).body,
    ) as Document;
    expect(group.paths['/apis/rbac.authorization.k8s.io/']).toMatchObject({
      get: { operationId: 'getRbacAuthorizationAPIGroup', tags: ['rbacAuthorization'] },
    });

    const virtual = openapiHandler(
      { version: 'v1.36.0', isVirtual: true },
      {
        resolver: {
          resolve: () => undefined,
          list: () => [widget],
          discoveryHash: () => 'virtual',
          isBuiltInGroup: () => false,
        },
      },
    );
    const exchange = new MemoryExchange('GET', '/clusters/a/openapi/v3', {});
    await virtual(memoryContext(exchange));
    const index = (JSON.parse(exchange.body) as { paths: object }).paths;
    expect(Object.keys(index)).toEqual(['api', 'apis', 'apis/g.example.com', 'apis/g.example.com/v1', 'version']);
  });

  test('every document of the index is served by its hash and has no dangling references', async () => {
    const { paths } = JSON.parse((await ask('/clusters/a/openapi/v3')).body) as {
      paths: Record<string, { serverRelativeURL: string }>;
    };
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(['api/v1', 'apis/rbac.authorization.k8s.io/v1', 'version', 'api', 'apis']),
    );
    for (const { serverRelativeURL } of Object.values(paths)) {
      const answer = await ask(`/clusters/a${serverRelativeURL}`);
      expect([serverRelativeURL, answer.status]).toEqual([serverRelativeURL, 200]);
      const { components } = JSON.parse(answer.body) as Document;
      for (const [, name] of answer.body.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
        expect(Object.keys(components.schemas)).toContain(name);
      }
    }
  });

  test.each(['/openapi/v3', '/openapi/v3/', '/openapi/v3/api/v1'])(
    'over all logical clusters there is no %s, but the document of version 2',
    async (path) => {
      const answer = await ask(`/clusters/*${path}`);
      expect(answer.status).toBe(404);
      expect(answer.body).toBe('404 page not found\n');
      expect((await ask('/clusters/*/openapi/v2')).status).toBe(200);
    },
  );

  test('an outdated hash is redirected to the current one in the same cluster', async () => {
    const old = await urlOf('a', 'apis/g.example.com/v1');
    clusters['a'] = [
      definition('g.example.com', 'Widget', '2', { type: 'object', properties: { m: { type: 'string' } } }),
    ];
    const answer = await ask(`/clusters/a${old}`);
    expect(answer.status).toBe(301);
    const location = String(answer.answer['location']);
    expect(location).toBe(`/clusters/a${await urlOf('a', 'apis/g.example.com/v1')}`);
    expect(location).not.toContain(old);
    expect((await ask(location)).body).toContain('"m":{"type":"string"}');
  });

  test('logical clusters with equal definitions share a document', async () => {
    clusters['b'] = [widget];
    expect(await urlOf('a', 'apis/g.example.com/v1')).toBe(await urlOf('b', 'apis/g.example.com/v1'));
    expect(await urlOf('a', 'apis/g.example.com/v1')).not.toBe('');
  });

  test('returns 304 for an unchanged document', async () => {
    for (const url of [
      '/clusters/a/openapi/v3',
      '/clusters/a/openapi/v3/apis/g.example.com/v1',
      '/clusters/a/openapi/v2',
    ]) {
      const first = await ask(url);
      expect(first.status).toBe(200);
      const again = await ask(url, { 'if-none-match': String(first.answer['etag']) });
      expect([again.status, again.body]).toEqual([304, '']);
    }
  });

  test.each([
    ['/clusters/a/openapi/v3/apis/none.example.com/v1', 'GET', {}, 404],
    ['/clusters/a/openapi/v3/apis/g.example.com/v1', 'GET', { accept: 'text/html' }, 406],
    [
      '/clusters/a/openapi/v3/apis/g.example.com/v1',
      'GET',
      { accept: 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf,application/json' },
      200,
    ],
    ['/clusters/a/openapi/v2', 'GET', { accept: 'text/html' }, 406],
    ['/clusters/a/openapi/v3', 'POST', {}, 200],
    ['/clusters/a/openapi/v4', 'GET', {}, 404],
    ['/openapi/v3', 'GET', {}, 404],
  ])('%s %s %p: %d', async (url, method, headers, status) => {
    expect((await ask(url, headers as Record<string, string>, method)).status).toBe(status);
  });

  test('names of Object.prototype members are ordinary names', async () => {
    clusters['a'] = [
      definition('g.example.com', 'Widget', '3', {
        type: 'object',
        properties: JSON.parse('{"__proto__":{"type":"string"}}') as JsonObject,
      }),
    ];
    expect((await ask('/clusters/a/openapi/v3/apis/g.example.com/v1')).body).toContain('"__proto__":{"type":"string"}');
    expect((await ask('/clusters/a/openapi/v3/__proto__')).status).toBe(404);
  });
});

test('OpenAPI v2 contains all resources of the cluster', async () => {
  const answer = await ask('/clusters/a/openapi/v2');
  expect(answer.answer).toMatchObject({ 'content-type': 'application/json', vary: ['Accept-Encoding', 'Accept'] });
  const document = JSON.parse(answer.body) as {
    swagger: string;
    definitions: Record<string, unknown>;
    paths: Record<string, unknown>;
  };
  expect(document.swagger).toBe('2.0');
  expect(document.definitions).toHaveProperty(['com.example.g.v1.Widget']);
  expect(document.definitions).toHaveProperty(['io.k8s.api.core.v1.ConfigMap']);
  expect(document.paths).toHaveProperty(['/api/v1/namespaces/{namespace}/configmaps']);
  expect(answer.body).not.toContain('#/components/');
});

test('hundreds of large definitions do not block the event loop', async () => {
  const fields = Object.fromEntries(
    Array.from({ length: 400 }, (_, i) => [
      `field${i}`,
      { type: 'object', description: 'x'.repeat(200), properties: { a: { type: 'string' } } },
    ]),
  );
  clusters['a'] = Array.from({ length: 200 }, (_, i) =>
    definition('g.example.com', `Kind${i}`, `h${i}`, { type: 'object', properties: fields }),
  );
  const { turns, result } = await turnsDuring(() => ask('/clusters/a/openapi/v3/apis/g.example.com/v1'));
  expect(result.body.length).toBeGreaterThan(10_000_000);
  expect(turns).toBeGreaterThan(3);
});

test('another definition only builds its own part', async () => {
  let built = 0;
  const counted = (kind: string): ResourceDefinition => ({
    ...definition('g.example.com', kind, kind, number),
    schema: {
      hash: kind,
      get source() {
        built++;
        return { type: 'object', description: `of ${kind}` };
      },
    } as never,
  });
  const document = '/clusters/a/openapi/v3/apis/g.example.com/v1';
  const [a, b, c] = [counted('Aone'), counted('Btwo'), counted('Cthree')];
  clusters['a'] = [a, b];
  await ask(document);
  const before = built;
  clusters['a'] = [a, b, c];
  const { components } = JSON.parse((await ask(document)).body) as Document;
  expect(Object.keys(components.schemas)).toEqual(
    expect.arrayContaining(['com.example.g.v1.Aone', 'com.example.g.v1.Btwo', 'com.example.g.v1.Cthree']),
  );
  expect(built - before).toBe(before / 2);
});

test('OpenAPI v2 in protobuf', async () => {
  const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
  const answer = await ask('/clusters/a/openapi/v2', { accept });
  expect(answer.status).toBe(200);
  expect(answer.answer).toMatchObject({ 'content-type': 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf' });
  for (const name of ['com.example.g.v1.Widget', 'io.k8s.api.core.v1.ConfigMap', 'fieldValidation']) {
    expect(answer.body).toContain(name);
  }
  expect((await ask('/clusters/a/openapi/v2')).answer['etag']).not.toBe(answer.answer['etag']);
});

test('OpenAPI v3 in protobuf, with the ETag of the index', async () => {
  const url = await urlOf('a', 'apis/g.example.com/v1');
  for (const form of ['v3@v1.0', 'v3.v1.0']) {
    const accept = `application/com.github.proto-openapi.spec.${form}+protobuf`;
    const answer = await ask(`/clusters/a${url}`, { accept });
    expect(answer.status).toBe(200);
    expect(answer.answer).toMatchObject({
      'content-type': 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf',
      etag: `"${url.split('=')[1] as string}"`,
      vary: 'Accept',
    });
    for (const name of ['com.example.g.v1.Widget', 'a number', 'fieldValidation']) expect(answer.body).toContain(name);
    expect((await ask('/clusters/a/openapi/v3/version', { accept })).body).toContain('getCodeVersion');
  }
});

/** A client that accepts gzip, as an exchange with the compressing one in front. */
class CompressingExchange extends MemoryExchange {
  readonly compresses = true;
  sent: Buffer = Buffer.alloc(0);
  readonly direct = {
    respond: (_status: number, body: Buffer | string): void => {
      this.sent = Buffer.from(body);
    },
  } as unknown as Exchange;
}

test('a document is compressed once for all requests', async () => {
  const url = '/clusters/a/openapi/v2';
  const answers: CompressingExchange[] = [];
  for (let n = 0; n < 2; n++) {
    const exchange = new CompressingExchange('GET', url);
    await handler(memoryContext(exchange));
    answers.push(exchange);
  }
  const plain = await ask(url);
  for (const { sent, answer } of answers) {
    expect(gunzipSync(sent).toString()).toBe(plain.body);
    expect([answer['content-encoding'], answer['vary']]).toEqual(['gzip', ['Accept', 'Accept-Encoding']]);
    expect(answer['etag']).toBe(plain.answer['etag']);
  }
  expect(plain.answer['content-encoding']).toBeUndefined();
});

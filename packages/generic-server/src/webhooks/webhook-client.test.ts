// oxlint-disable tests/no-real-time-with-fake-clock -- calls come over sockets
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { runAndEnd, type Span } from '@multiplane/component-base';
import { FakeClock, eventually } from '@multiplane/testing';
import { WebhookServer } from '@multiplane/testing/serving';
import { AddressPolicy } from './address-policy.ts';
import { WebhookClient, type WebhookClientModules } from './webhook-client.ts';

let server: WebhookServer;
let client: WebhookClient | undefined;
const clock = new FakeClock();

beforeEach(async () => {
  server = await WebhookServer.start((call) => ({ echo: call.body.toString() }));
});
afterEach(async () => {
  client?.close();
  await server.stop();
});

function open(modules: Partial<WebhookClientModules> = {}): WebhookClient {
  client = new WebhookClient(
    { maxCalls: 3, maxTenantCalls: 2 },
    { policy: new AddressPolicy({ allowed: ['127.0.0.0/8'], denied: [] }), clock, ...modules },
  );
  return client;
}

type Post = Parameters<WebhookClient['post']>[0];

function call(change: Partial<Post> = {}): Post {
  return {
    tenant: 'one',
    url: `${server.url}/convert?timeout=30s`,
    caBundle: server.ca,
    body: '{"a":1}',
    timeoutMs: 30_000,
    timeoutText: 'context deadline exceeded',
    signal: new AbortController().signal,
    maxResponseBytes: 1000,
    ...change,
  };
}

const failure = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'it went through',
    (error: Error) => error.message,
  );

describe('a call', () => {
  test('posts the document and returns the response', async () => {
    const answer = await open().post(call());
    expect(JSON.parse(answer.toString())).toEqual({ echo: '{"a":1}' });
    const [received] = server.calls;
    expect(received?.url).toBe('/convert?timeout=30s');
    expect(received?.headers['content-type']).toBe('application/json');
    expect(received?.headers.authorization).toBeUndefined();
  });

  test('carries the trace of the request on behalf of which it is made, and nothing without one', async () => {
    const hooks = open();
    await hooks.post(call());
    const span: Span = {
      isRecording: true,
      headers: ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
      child: () => span,
      set: () => undefined,
      end: () => undefined,
    };
    await runAndEnd(span, () => hooks.post(call()));
    expect(server.calls.map(({ headers }) => headers['traceparent'])).toEqual([undefined, span.headers[1]]);
  });

  test('reuses connections', async () => {
    const hooks = open();
    for (let turn = 0; turn < 3; turn++) await hooks.post(call());
    expect(server.calls).toHaveLength(3);
    expect(server.connections).toBe(1);
  });

  test('is retried on a new connection if the kept one was closed', async () => {
    const hooks = open();
    await hooks.post(call());
    server.answer = (received, response) => {
      // The first attempt uses the old connection, which is closed before a response.
      server.answer = () => ({ again: received.body.toString() });
      response.destroy();
    };
    expect((await hooks.post(call())).toString()).toBe('{"again":"{\\"a\\":1}"}');
    expect(server.connections).toBe(2);
  });

  test('times out', async () => {
    server.answer = () => new Promise(() => undefined);
    const message = failure(open().post(call()));
    await eventually(() => expect(server.calls).toHaveLength(1));
    await clock.advance(30_000);
    expect(await message).toBe(`Post "${server.url}/convert?timeout=30s": context deadline exceeded`);
  });

  test('is aborted by its signal', async () => {
    server.answer = () => new Promise(() => undefined);
    const gone = new AbortController();
    const message = failure(open().post(call({ signal: gone.signal })));
    await eventually(() => expect(server.calls).toHaveLength(1));
    gone.abort();
    expect(await message).toContain('context canceled');
  });

  test('rejects an oversized response and stops reading it', async () => {
    server.answer = (_call, response) => {
      response.end(Buffer.alloc(100_000, 0x20));
    };
    expect(await failure(open().post(call()))).toContain('the answer exceeds 1000 bytes');
  });

  test('is rejected above the limits per tenant and in total', async () => {
    server.answer = () => new Promise(() => undefined);
    const hooks = open();
    const gone = new AbortController();
    const slow = (tenant: string): Promise<string> => failure(hooks.post(call({ tenant, signal: gone.signal })));
    const waiting = [slow('one'), slow('one')];
    const tooMany = 'too many webhooks are being called';
    expect(await failure(hooks.post(call()))).toContain(tooMany);
    // Webhooks of other tenants are called.
    waiting.push(slow('two'));
    await eventually(() => expect(server.calls).toHaveLength(3));
    expect(await failure(hooks.post(call({ tenant: 'three' })))).toContain(tooMany);
    gone.abort();
    await Promise.all(waiting);
    server.answer = () => ({});
    expect((await hooks.post(call())).toString()).toBe('{}');
  });
});

describe('an unsuccessful response', () => {
  test.each([
    [404, 'text/plain', 'page', 'the server could not find the requested resource'],
    [500, 'text/plain', 'oh no\n', 'an error on the server ("oh no") has prevented the request from succeeding'],
    [
      500,
      'application/octet-stream',
      'x',
      'an error on the server ("unknown") has prevented the request from succeeding',
    ],
    [503, 'text/plain', '', 'the server is currently unable to handle the request'],
    [400, 'application/json', '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"mine"}', 'mine'],
    [403, 'text/plain', 'not you', 'not you'],
    [418, 'text/plain', '', 'the server responded with the status code 418 but did not return more information'],
  ])('%i', async (status, type, body, expected) => {
    server.answer = (_call, response) => {
      response.writeHead(status, { 'content-type': type });
      response.end(body);
    };
    expect(await failure(open().post(call()))).toBe(expected);
  });

  test.each([301, 302, 303, 307, 308])('a redirect (%i) is not followed', async (status) => {
    server.answer = ({ url }, response) => {
      response.writeHead(status, { location: `${server.url}/elsewhere` });
      response.end(url);
    };
    expect(await failure(open().post(call()))).toContain(`the server responded with the status code ${status}`);
    expect(server.calls.map(({ url }) => url)).toEqual(['/convert?timeout=30s']);
  });
});

describe('a webhook fails if it', () => {
  test('has a certificate of another CA', async () => {
    const other = await WebhookServer.start();
    await other.stop();
    expect(await failure(open().post(call({ caBundle: other.ca })))).toContain(
      'tls: failed to verify certificate: x509: certificate signed by unknown authority',
    );
    expect(server.calls).toHaveLength(0);
  });

  test('has a certificate of another name', async () => {
    const hooks = open({ resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]) });
    const url = `https://other.example.com:${server.port}/`;
    expect(await failure(hooks.post(call({ url })))).toBe(
      `Post "${url}": tls: failed to verify certificate: x509: certificate is not valid for other.example.com`,
    );
  });

  test('has an invalid CA bundle', async () => {
    const message = 'unable to load root certificates: unable to parse bytes as PEM block';
    expect(await failure(open().post(call({ caBundle: 'nonsense' })))).toBe(message);
  });

  test('does not listen', async () => {
    const { url } = server;
    const { port } = server;
    await server.stop();
    expect(await failure(open().post(call({ url })))).toBe(
      `Post "${url}": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    );
    server = await WebhookServer.start();
  });

  test('has no address', async () => {
    const hooks = open({
      resolve: () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' })),
    });
    expect(await failure(hooks.post(call({ url: 'https://hook.example.com/' })))).toBe(
      'Post "https://hook.example.com/": dial tcp: lookup hook.example.com: no such host',
    );
  });
});

describe('the address policy', () => {
  const closed = new AddressPolicy({ allowed: [], denied: [] });

  test.each(['127.0.0.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', '169.254.169.254'])(
    'denies https://%s',
    async (host) => {
      const url = `https://${host}:${server.port}/`;
      expect(await failure(open({ policy: closed }).post(call({ url })))).toContain('are not open to webhooks');
      expect(server.connections).toBe(0);
    },
  );

  test('applies to the addresses of a name', async () => {
    const hooks = open({ policy: closed, resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]) });
    const url = `https://hook.example.com:${server.port}/`;
    expect(await failure(hooks.post(call({ url })))).toBe(
      `Post "${url}": dial tcp: the addresses of hook.example.com are not open to webhooks; an administrator of the installation can open them by --webhook-allowed-networks`,
    );
    expect(server.connections).toBe(0);
  });

  test('dials the checked address although the name changes', async () => {
    let asked = 0;
    const resolve = (): Promise<{ address: string; family: number }[]> => {
      asked++;
      return Promise.resolve([{ address: asked === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }]);
    };
    const hooks = open({ resolve });
    const url = `https://hook.example.com:${server.port}/`;
    await hooks.post(call({ url }));
    await hooks.post(call({ url }));
    expect([asked, server.calls.length]).toEqual([1, 2]);
  });

  test('skips denied addresses', async () => {
    const resolve = (): Promise<{ address: string; family: number }[]> =>
      Promise.resolve(['10.0.0.1', '127.0.0.1'].map((address) => ({ address, family: 4 })));
    const url = `https://hook.example.com:${server.port}/`;
    expect((await open({ resolve }).post(call({ url }))).toString()).toContain('echo');
  });
});

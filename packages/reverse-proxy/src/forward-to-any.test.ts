import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eventually, freePorts } from '@multiplane/testing';
import { NodeExchange } from '../test/node-exchange.ts';
import { ReverseProxy, type ForwardTarget } from './reverse-proxy.ts';
import { UpstreamError } from './upstream-error.ts';

const identity = { current: {} };
let proxy: ReverseProxy;
let front: Server;
let servers: Server[];
let urls: readonly URL[];
let target: Omit<ForwardTarget, 'url'>;

async function serve(name: string, port = 0): Promise<Server> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => response.end(`${name} ${request.method ?? ''} ${request.url ?? ''} ${body}`.trim()));
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  return server;
}
const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const urlOf = (server: Server, path = ''): URL => new URL(`http://127.0.0.1:${portOf(server)}${path}`);
async function end(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close').catch(() => undefined);
}

beforeEach(async () => {
  servers = [];
  target = {};
  // A write to a server that was active a moment ago is sent at once, so its outcome may be unknown.
  proxy = new ReverseProxy({ probeIntervalMs: 1, maxActivityAgeMs: -1 }, { identity });
  front = createServer((request, response) => {
    proxy.forwardToAny(new NodeExchange(request, response), urls, target).catch((error: unknown) => {
      response.writeHead(500).end(error instanceof UpstreamError ? error.failure : String(error));
    });
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
});
afterEach(async () => {
  await proxy.close();
  for (const server of [front, ...servers]) {
    server.closeAllConnections();
    server.close();
  }
});

function send(path: string, method = 'GET', body?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port: portOf(front), path, method, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve(text));
    });
    request.on('error', reject);
    request.end(body);
  });
}

test('requests are spread over the servers, each with the path of its URL', async () => {
  urls = [urlOf(await serve('a'), '/one'), urlOf(await serve('b'), '/two')];
  const answers = [await send('/x'), await send('/x'), await send('/x'), await send('/x')];
  expect(answers.toSorted()).toEqual(['a GET /one/x', 'a GET /one/x', 'b GET /two/x', 'b GET /two/x']);
});

test.each(['GET', 'POST'])('a server that is dead from the start is left out, and costs no %s', async (method) => {
  const [dead] = await freePorts(1);
  urls = [new URL(`http://127.0.0.1:${dead ?? 0}`), urlOf(await serve('b'))];
  const body = method === 'GET' ? undefined : 'body';
  const wanted = ['b', method, '/x', body].filter(Boolean).join(' ');
  for (let i = 0; i < 6; i++) expect(await send('/x', method, body)).toBe(wanted);
});

test.each(['GET', 'POST'])(
  'a server that dies is left out of every %s, and gets requests again when it is back',
  async (method) => {
    const a = await serve('a');
    const b = await serve('b');
    urls = [urlOf(a), urlOf(b)];
    const body = method === 'GET' ? undefined : 'body';
    await Promise.all([send('/x', method, body), send('/x', method, body)]);
    const port = portOf(a);
    await end(a);
    const answers: string[] = [];
    for (let i = 0; i < 6; i++) answers.push((await send('/x', method, body)).slice(0, 1));
    expect(answers).toEqual(['b', 'b', 'b', 'b', 'b', 'b']);
    await serve('a', port);
    await eventually(async () => expect(await send('/x', method, body)).toMatch(/^a /));
  },
);

test('without any server the request is not delivered', async () => {
  const [first, second] = await freePorts(2);
  urls = [new URL(`http://127.0.0.1:${first ?? 0}`), new URL(`http://127.0.0.1:${second ?? 0}`)];
  expect(await send('/x')).toBe('unreachable');
  expect(await send('/x', 'POST', 'body')).toBe('unreachable');
});

test('names are resolved by the given lookup', async () => {
  const a = await serve('a');
  await proxy.close();
  const asked: string[] = [];
  proxy = new ReverseProxy(
    {},
    {
      identity,
      lookup: (name, options, callback) => {
        asked.push(name);
        if (options.all === true) callback(null, [{ address: '127.0.0.1', family: 4 }]);
        else callback(null, '127.0.0.1', 4);
      },
    },
  );
  urls = [new URL(`http://backend.example:${portOf(a)}`)];
  expect(await send('/x')).toBe('a GET /x');
  expect(asked).toEqual(['backend.example']);
});

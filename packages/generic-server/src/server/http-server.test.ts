import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http2';
import { Agent, request as httpsRequest } from 'node:https';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { eventually } from '@multiplane/testing';
import { echo, Http1Client, TlsFixture } from '@multiplane/testing/serving';
import { ConnectionTable } from './connection-table.ts';

let tls: TlsFixture;
beforeAll(async () => {
  tls = await TlsFixture.create();
});
afterEach(() => tls.cleanUp());

describe('both protocols on one port', () => {
  test('a long response is complete, and other requests are served meanwhile', async () => {
    const long = Buffer.alloc(8 * 1024 * 1024 + 5, 'abcdefghijk');
    let turns = 0;
    const server = await tls.answer((exchange) => {
      exchange.respond(200, long);
      const turn = (): void => {
        turns++;
        // oxlint-disable-next-line tests/no-real-timers -- it counts iterations until the response is sent
        if (exchange.buffered > 0) setImmediate(turn);
      };
      // oxlint-disable-next-line tests/no-real-timers -- it counts iterations until the response is sent
      setImmediate(turn);
    });
    const first = await tls.ask1(server, '/long');
    expect(first.headers['content-length']).toBe(String(long.length));
    expect(first.body.equals(long)).toBe(true);
    const second = await tls.ask2(tls.session2(server), { ':path': '/long' });
    expect(second.headers['content-length']).toBe(String(long.length));
    expect(second.body.equals(long)).toBe(true);
    expect(turns).toBeGreaterThan(4);
  });

  test('HTTP/1.1', async () => {
    const server = await tls.answer(echo);
    const answer = await tls.ask1(server, '/a?b=c', { method: 'POST' }, Buffer.from('hello'));
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toBe('1.1 POST /a?b=c hello');
    expect(answer.headers['content-length']).toBe('21');
  });

  test('HTTP/2', async () => {
    const server = await tls.answer(echo);
    const answer = await tls.ask2(tls.session2(server), { ':path': '/a?b=c', ':method': 'PUT' }, Buffer.from('hello'));
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toBe('2.0 PUT /a?b=c hello');
    expect(answer.headers['content-type']).toBe('text/plain');
  });

  test('a client that waits for an interim response before it sends the body gets one', async () => {
    const server = await tls.answer(echo);
    const stream = tls.session2(server).request({ ':path': '/', ':method': 'POST', expect: '100-Continue' });
    stream.on('continue', () => stream.end('hello'));
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    expect(headers[':status']).toBe(200);
    const request = httpsRequest({
      host: '127.0.0.1',
      port: server.port,
      ca: tls.ca,
      method: 'POST',
      agent: false,
      headers: {
        expect: '100-continue',
        'content-length': '5',
      },
    });
    request.flushHeaders();
    request.on('continue', () => request.end('hello'));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    response.resume();
  });

  test('a request that is refused before its body is read gets no interim response', async () => {
    const server = await tls.answer((exchange) => exchange.respond(401, 'who are you?'));
    const stream = tls.session2(server).request({ ':path': '/', ':method': 'POST', expect: '100-continue' });
    const interim: string[] = [];
    stream.on('continue', () => interim.push('HTTP/2'));
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    expect(headers[':status']).toBe(401);
    using client = await Http1Client.open({ port: server.port, ca: tls.ca });
    client.socket.write('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n');
    const answer = await client.next('POST');
    expect([answer.status, answer.interim, answer.headers.get('connection')]).toEqual([401, [], 'close']);
    expect(interim).toEqual([]);
  });

  test.each(['HTTP/1.1', 'HTTP/1.0'])('%s: a request with two hosts is refused', async (version) => {
    const server = await tls.answer(echo);
    using client = await Http1Client.open({ port: server.port, ca: tls.ca });
    client.socket.write(`GET / ${version}\r\nHost: a\r\nhost: b\r\n\r\n`);
    expect(await client.next('GET')).toMatchObject({ status: 400 });
  });

  test('repeated headers are lists, and the host is set', async () => {
    const seen: unknown[] = [];
    const server = await tls.answer((exchange) => {
      seen.push(exchange.headers['x-remote-group'], exchange.headers['host']);
      expect(Object.keys(exchange.headers).filter((name) => name.startsWith(':'))).toEqual([]);
      exchange.respond(200, '');
    });
    await tls.ask1(server, '/', { headers: { 'x-remote-group': ['a', 'b, c'] } });
    await tls.ask2(tls.session2(server), { ':path': '/', 'x-remote-group': ['a', 'b, c'] });
    const host = `127.0.0.1:${server.port}`;
    expect(seen).toEqual([['a', 'b, c'], host, ['a', 'b, c'], host]);
  });

  test('the response to HEAD has a length and no body', async () => {
    const server = await tls.answer((exchange) => exchange.respond(200, 'text'));
    const first = await tls.ask1(server, '/', { method: 'HEAD' });
    const second = await tls.ask2(tls.session2(server), { ':path': '/', ':method': 'HEAD' });
    for (const answer of [first, second]) {
      expect(answer.headers['content-length']).toBe('4');
      expect(answer.body).toHaveLength(0);
    }
  });

  test('handlers can read the client certificate', async () => {
    const server = await tls.answer((exchange) => {
      exchange.respond(200, exchange.socket.getPeerX509Certificate()?.subject.replaceAll('\n', ',') ?? 'none');
    });
    const identity = { cert: tls.client.certificatePem, key: tls.client.privateKeyPem };
    expect((await tls.ask1(server, '/', identity)).body.toString()).toBe('O=team,CN=alice');
    expect((await tls.ask1(server, '/')).body.toString()).toBe('none');
    expect((await tls.ask2(tls.session2(server, tls.client), { ':path': '/' })).body.toString()).toBe(
      'O=team,CN=alice',
    );
  });

  test('a client certificate of an unknown CA does not fail the handshake', async () => {
    const otherAuthority = await CertificateAuthority.create({ commonName: 'other' });
    const mallory = await otherAuthority.issueClient({ user: 'mallory' });
    const server = await tls.answer((exchange) => exchange.respond(401, String(exchange.socket.authorized)));
    const answer = await tls.ask1(server, '/', { cert: mallory.certificatePem, key: mallory.privateKeyPem });
    expect([answer.status, answer.body.toString()]).toEqual([401, 'false']);
  });

  test('a new serving certificate is used for new connections', async () => {
    const server = await tls.answer((exchange) => exchange.respond(200, 'ok'));
    const renewed = await tls.authority.issueServer({ commonName: 'renewed', ipAddresses: ['127.0.0.1'] });
    const commonName = async (): Promise<string> => {
      const socket = await tls.socket(server);
      return String(socket.getPeerCertificate().subject.CN);
    };
    expect(await commonName()).toBe('localhost');
    server.reloadCertificate(renewed);
    expect(await commonName()).toBe('renewed');
  });
});

describe('stopping', () => {
  test('running requests finish, connections close, new ones are rejected', async () => {
    const gate = Promise.withResolvers<void>();
    const arrived: (() => void)[] = [];
    const server = await tls.answer(
      async (exchange) => {
        arrived.shift()?.();
        await gate.promise;
        exchange.respond(200, 'finished');
      },
      { stopGraceMs: 10_000 },
    );
    const both = Promise.all([new Promise<void>((r) => arrived.push(r)), new Promise<void>((r) => arrived.push(r))]);
    const first = tls.ask1(server, '/');
    const session = tls.session2(server);
    const goaway = once(session, 'goaway');
    const second = tls.ask2(session, { ':path': '/' });
    await both;
    expect(server.inFlight).toBe(2);
    const stopped = server.stop();
    await goaway;
    await expect(tls.ask1(server, '/')).rejects.toThrow('ECONNREFUSED');
    gate.resolve();
    expect((await first).body.toString()).toBe('finished');
    expect((await first).headers.connection).toBe('close');
    expect((await second).body.toString()).toBe('finished');
    await stopped;
    expect(server.inFlight).toBe(0);
  });

  test('a request in flight on an idle connection is served', async () => {
    const server = await tls.answer((exchange) => exchange.respond(200, 'answered'));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await tls.ask1(server, '/', { agent })).headers.connection).toBe('keep-alive');
    const stopped = server.stop();
    await expect(tls.ask1(server, '/')).rejects.toThrow('ECONNREFUSED');
    const answer = await tls.ask1(server, '/', { agent, method: 'POST' }, Buffer.from('late'));
    expect([answer.body.toString(), answer.headers.connection]).toEqual(['answered', 'close']);
    await stopped;
    agent.destroy();
  });

  test('a proxy gets no Connection header, and its connection stays open', async () => {
    const connections = new ConnectionTable({
      beforeAuthentication: 10,
      beforeAuthenticationPerSource: 10,
      perUser: 1000,
      total: 10,
    });
    const server = await tls.answer((exchange) => exchange.respond(200, ''), {}, connections);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    for (let i = 0; i < 2; i++) {
      const answer = await tls.ask1(server, '/', { agent, headers });
      expect([answer.headers.connection, answer.headers['keep-alive']]).toEqual([undefined, undefined]);
    }
    expect([connections.open, connections.rejected]).toEqual([1, 0]);
    const last = await tls.ask1(server, '/', { agent: false, headers: { ...headers, connection: 'close' } });
    expect(last.headers.connection).toBe('close');
    agent.destroy();
  });

  test('idle connections are closed after a short time', async () => {
    const connections = new ConnectionTable({
      beforeAuthentication: 10,
      beforeAuthenticationPerSource: 10,
      perUser: 1000,
      total: 10,
    });
    const server = await tls.answer((exchange) => exchange.respond(200, ''), { stopQuietMs: 20 }, connections);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await tls.ask1(server, '/', { agent });
    expect(connections.open).toBe(1);
    await server.stop();
    await eventually(() => expect(connections.open).toBe(0));
    agent.destroy();
  });

  test('requests that do not finish are aborted after the grace period', async () => {
    const server = await tls.answer((exchange) => exchange.start(200), { stopGraceMs: 50 });
    const session = tls.session2(server);
    const stream = session.request({ ':path': '/' });
    stream.on('error', () => undefined);
    await once(stream, 'response');
    const closed = once(stream, 'close');
    await server.stop();
    await closed;
    expect(server.inFlight).toBe(0);
  });
});

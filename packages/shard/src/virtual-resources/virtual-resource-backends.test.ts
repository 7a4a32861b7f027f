import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { UserInfo } from '@multiplane/apimachinery';
import type { Certificate } from '@multiplane/component-base';
import { AddressPolicy, BufferedExchange } from '@multiplane/generic-server';
import { testCertificates } from '@multiplane/testing';
import { VirtualResourceBackends } from './virtual-resource-backends.ts';

type Certificates = Awaited<ReturnType<typeof testCertificates>>;

const alice: UserInfo = { name: 'alice', uid: '', groups: ['team'], extra: {} };
let plane: Certificates;
let outside: Certificates;
let shardCertificate: Certificate;
let outsideCertificate: Certificate;
beforeAll(async () => {
  plane = await testCertificates('control plane');
  outside = await testCertificates('outside');
  shardCertificate = await plane.client('shard');
  outsideCertificate = await outside.client('virtual-resources');
});

interface Seen {
  readonly certificate: string | undefined;
  readonly user: string | undefined;
  readonly token: string | undefined;
  readonly path: string | undefined;
}
let seen: Seen[];
let servers: Server[];
let backends: VirtualResourceBackends;
beforeEach(() => {
  seen = [];
  servers = [];
});
afterEach(async () => {
  await backends.stop();
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

/** A server that asks for a client certificate of any CA. */
async function serve({ server }: Certificates, body = '{"resources":[]}'): Promise<string> {
  const listening = createServer(
    { cert: server.certificatePem, key: server.privateKeyPem, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      const certificate = (request.socket as TLSSocket).getPeerCertificate().subject as { CN?: string } | undefined;
      const { 'x-remote-user': user, authorization } = request.headers as Record<string, string | undefined>;
      seen.push({ certificate: certificate?.CN, user, token: authorization, path: request.url });
      response.end(body);
    },
  ).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  servers.push(listening);
  return `https://localhost:${(listening.address() as AddressInfo).port}/base`;
}

function make({ forwardsIdentity = true, allowed = ['127.0.0.0/8', '::1'] } = {}): void {
  const { certificatePem: cert, privateKeyPem: key } = shardCertificate;
  backends = new VirtualResourceBackends({
    identity: { current: { ca: plane.authorityPem, cert, key } },
    external: {
      identity: {
        current: {
          ca: outside.authorityPem,
          ...(forwardsIdentity
            ? { cert: outsideCertificate.certificatePem, key: outsideCertificate.privateKeyPem }
            : {}),
        },
      },
      forwardsIdentity,
      policy: new AddressPolicy({ allowed, denied: [] }),
    },
  });
}

async function send(url: string, isExternal: boolean, user = alice): Promise<string> {
  const signal = AbortSignal.timeout(10_000);
  const headers = { authorization: 'Bearer secret', 'x-remote-user': 'forged', cookie: 'session=secret' };
  const exchange = new BufferedExchange({ signal, socket: {} }, '/ignored', { method: 'GET', headers });
  try {
    await backends.forward(
      exchange,
      { urls: [new URL(url)], isExternal },
      { path: '/x?a=b', user, longRunning: false },
    );
  } catch (error) {
    return (error as Error).message;
  }
  const { status } = await exchange.response();
  return String(status);
}

test('a virtual workspace of the control plane gets the certificate of the shard and the caller', async () => {
  make();
  expect(await send(await serve(plane), false)).toBe('200');
  expect(seen).toEqual([{ certificate: 'shard', user: 'alice', token: undefined, path: '/base/x?a=b' }]);
});

test('a server outside gets the certificate for such servers and the caller, never those of the shard', async () => {
  make();
  expect(await send(await serve(outside), true)).toBe('200');
  expect(seen).toEqual([{ certificate: 'virtual-resources', user: 'alice', token: undefined, path: '/base/x?a=b' }]);
});

test('an anonymous caller is named to a server outside', async () => {
  make();
  const anonymous = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} };
  expect(await send(await serve(outside), true, anonymous)).toBe('200');
  expect(seen[0]?.user).toBe('system:anonymous');
});

test('without a certificate for servers outside they learn nothing of the caller', async () => {
  make({ forwardsIdentity: false });
  expect(await send(await serve(outside), true)).toBe('200');
  expect(seen).toEqual([{ certificate: undefined, user: undefined, token: undefined, path: '/base/x?a=b' }]);
});

test('a server of the control plane is no server outside: its certificate is of another CA', async () => {
  make();
  expect(await send(await serve(plane), true)).toBe('TLS verification of the upstream server failed');
  expect(seen).toEqual([]);
});

test.each(['localhost', '127.0.0.1', '[::1]'])('addresses of private networks need permission: %s', async (host) => {
  make({ allowed: [] });
  const url = (await serve(outside)).replace('localhost', host);
  expect(await send(url, true)).toContain(`the addresses of ${host} are not open to virtual resources`);
  expect(seen).toEqual([]);
});

test('a document is read in the name of the given user; other answers are errors', async () => {
  make();
  const endpoints = async (body?: string) => ({ urls: [new URL(await serve(outside, body))], isExternal: true });
  expect(await backends.document(await endpoints(), '/clusters/*/api/v1', alice)).toEqual({ resources: [] });
  expect(seen).toEqual([
    { certificate: 'virtual-resources', user: 'alice', token: undefined, path: '/base/clusters/*/api/v1' },
  ]);
  await expect(backends.document(await endpoints('[]'), '/x', alice)).rejects.toThrow('is no object');
  await expect(backends.document(await endpoints(`"${'x'.repeat(600_000)}"`), '/x', alice)).rejects.toThrow(
    'too large',
  );
});

import { request } from 'node:https';
import { expect, test } from '@jest/globals';
import { testCertificates } from './certificates.ts';
import { EtcdServer } from './etcd-server.ts';
import { eventually } from './eventually.ts';

const encode = (text: string): string => Buffer.from(text).toString('base64');

/** One call of etcd's JSON gateway, so that this package needs no client library. */
async function call(etcd: EtcdServer, method: string, body: unknown, timeout = 5_000): Promise<{ kvs?: unknown[] }> {
  const response = await fetch(`${etcd.endpoint}/v3/kv/${method}`, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeout),
    headers: { connection: 'close' },
  });
  return (await response.json()) as { kvs?: unknown[] };
}

test('keeps data and port after a crash', async () => {
  await using etcd = await EtcdServer.start();
  await call(etcd, 'put', { key: encode('a'), value: encode('1') });
  await etcd.process.kill();
  expect(etcd.process.running).toBe(false);
  await etcd.process.restart();
  expect(await call(etcd, 'range', { key: encode('a') })).toMatchObject({ kvs: [{ value: encode('1') }] });
});

test('a frozen server is unresponsive until it is thawed', async () => {
  await using etcd = await EtcdServer.start();
  await etcd.process.freeze();
  await expect(call(etcd, 'range', { key: encode('a') }, 200)).rejects.toThrow('timeout');
  etcd.process.thaw();
  await eventually(() => call(etcd, 'range', { key: encode('a') }));
});

test('requires a client certificate of its CA with TLS', async () => {
  const certificates = await testCertificates();
  const stranger = await (await testCertificates()).client('root');
  await using etcd = await EtcdServer.start({ tls: certificates });
  const version = (client: { certificatePem: string; privateKeyPem: string }): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      request(
        `${etcd.endpoint}/version`,
        { agent: false, ca: certificates.authorityPem, cert: client.certificatePem, key: client.privateKeyPem },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      )
        .once('error', reject)
        .end();
    });
  expect(await version(await certificates.client('root'))).toBe(200);
  await expect(version(stranger)).rejects.toMatchObject({ code: expect.stringMatching(/CERTIFICATE|ECONNRESET/) });
});

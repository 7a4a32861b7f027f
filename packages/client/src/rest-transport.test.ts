import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { RestTransport } from './rest-transport.ts';

const authority = await CertificateAuthority.create({ commonName: 'corporate' });
const pair = await authority.issueServer({ commonName: 'server', dnsNames: ['localhost'] });
const other = await authority.issueServer({ commonName: 'server', dnsNames: ['localhost'] });
const server = createServer({ cert: pair.certificatePem, key: pair.privateKeyPem }, (_request, response) => {
  response.end('{"kind":"Answer"}');
});

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function get(ca: string): Promise<unknown> {
  const { port } = server.address() as AddressInfo;
  const transport = new RestTransport({ config: { server: `https://localhost:${port}`, ca } });
  try {
    return await transport.json({ method: 'GET', path: '/' });
  } finally {
    transport.close();
  }
}

test.each([
  ['the CA', authority.pem.certificatePem],
  ['the certificate of the server itself, as Go does', pair.certificatePem],
])('a bundle verifies a server by %s', async (_by, ca) => {
  expect(await get(ca)).toEqual({ kind: 'Answer' });
});

test('a certificate of the same CA does not verify another server', async () => {
  await expect(get(other.certificatePem)).rejects.toMatchObject({ code: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY' });
});

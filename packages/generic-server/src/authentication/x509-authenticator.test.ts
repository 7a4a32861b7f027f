import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Certificate } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import type { Exchange } from '../server/exchange.ts';
import { X509Authenticator } from './x509-authenticator.ts';

let clients: CertificateAuthority;
let otherAuthority: CertificateAuthority;
let serving: Certificate;
beforeAll(async () => {
  clients = await CertificateAuthority.create({ commonName: 'clients' });
  otherAuthority = await CertificateAuthority.create({ commonName: 'strangers' });
  serving = await otherAuthority.issueServer({ commonName: 'server', ipAddresses: ['127.0.0.1'] });
});

const authoritiesOf = (...authorities: CertificateAuthority[]) => {
  const list = authorities.map(({ pem }) => new X509Certificate(pem.certificatePem));
  return { current: () => list };
};

/** The response of the authenticator for a connection with this certificate. */
async function judge(certificate: Certificate | undefined, authenticator: X509Authenticator) {
  const server = createServer({
    cert: serving.certificatePem,
    key: serving.privateKeyPem,
    requestCert: true,
    rejectUnauthorized: false,
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'secureConnection') as Promise<[TLSSocket]>;
  const client = connect({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    rejectUnauthorized: false,
    ...(certificate === undefined ? {} : { cert: certificate.certificatePem, key: certificate.privateKeyPem }),
  });
  const [socket] = await accepted;
  try {
    return authenticator.authenticate({ socket } as Exchange);
  } finally {
    client.destroy();
    socket.destroy();
    server.close();
  }
}

describe('client certificates', () => {
  const now = (): number => Date.now();
  const authenticator = (): X509Authenticator =>
    new X509Authenticator({ now }, { authorities: authoritiesOf(clients) });

  test('name the user by CN and the groups by O', async () => {
    const certificate = await clients.issueClient({ user: 'alice', groups: ['a', 'system:masters'] });
    const response = await judge(certificate, authenticator());
    expect(response?.user).toMatchObject({ name: 'alice', uid: '' });
    expect([...(response?.user.groups ?? [])].sort()).toEqual(['a', 'system:masters']);
    expect(response?.user.extra['authentication.kubernetes.io/credential-id']?.[0]).toMatch(
      /^X509SHA256=[0-9a-f]{64}$/,
    );
  });

  test('of another CA are invalid, also with the same CA name', async () => {
    await expect(
      judge(await otherAuthority.issueClient({ user: 'alice', groups: ['system:masters'] }), authenticator()),
    ).rejects.toThrow('unknown authority');
    const impostor = await CertificateAuthority.create({ commonName: 'clients' });
    await expect(judge(await impostor.issueClient({ user: 'alice' }), authenticator())).rejects.toThrow(
      'unknown authority',
    );
  });

  test('for serving do not authenticate', async () => {
    const certificate = await clients.issueServer({ commonName: 'alice', dnsNames: ['localhost'] });
    await expect(judge(certificate, authenticator())).rejects.toThrow('not meant for client authentication');
  });

  test('are valid for their time only', async () => {
    const certificate = await clients.issueClient({ user: 'alice' }, 1);
    const later = new X509Authenticator(
      { now: () => Date.now() + 2 * 24 * 60 * 60 * 1000 },
      { authorities: authoritiesOf(clients) },
    );
    await expect(judge(certificate, later)).rejects.toThrow('not valid now');
  });

  test.each([
    [{ user: 'system:serviceaccount:default:builder' }, 'the user "system:serviceaccount:default:builder"'],
    [{ user: 'alice', groups: ['a', 'system:cluster:root'] }, 'the group "system:cluster:root"'],
    [{ user: 'alice', groups: ['system:serviceaccounts'] }, 'the group "system:serviceaccounts"'],
    [{ user: 'alice', groups: ['system:serviceaccounts:default'] }, 'the group "system:serviceaccounts:default"'],
  ])('for %j are refused: only a server gives such an identity', async (identity, what) => {
    const certificate = await clients.issueClient(identity);
    await expect(judge(certificate, authenticator())).rejects.toThrow(`a client certificate cannot have ${what}`);
  });

  test('may have other names and groups of the system', async () => {
    const certificate = await clients.issueClient({
      user: 'system:node:a',
      groups: ['system:clusters', 'system:nodes'],
    });
    expect((await judge(certificate, authenticator()))?.user.name).toBe('system:node:a');
  });

  test('are optional', async () => {
    expect(await judge(undefined, authenticator())).toBeUndefined();
  });
});

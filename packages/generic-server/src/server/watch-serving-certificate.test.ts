import { appendFileSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CertificateWatcher, silentLogger, systemClock, type Certificate } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { eventually, TempDir } from '@multiplane/testing';
import { TlsFixture } from '@multiplane/testing/serving';
import { X509Authenticator } from '../authentication/x509-authenticator.ts';
import type { HttpServer } from './http-server.ts';
import { watchServingCertificate } from './watch-serving-certificate.ts';

let tls: TlsFixture;
let folder: TempDir;
let watcher: CertificateWatcher;
let server: HttpServer;

beforeEach(async () => {
  tls = await TlsFixture.create();
  folder = await TempDir.create('rotation');
  watcher = new CertificateWatcher({}, { clock: systemClock, logger: silentLogger });
});
afterEach(async () => {
  await tls.cleanUp();
  await folder.remove();
});

function writePair(pair: Certificate): void {
  writeFileSync(folder.join('tls.crt'), pair.certificatePem);
  writeFileSync(folder.join('tls.key'), pair.privateKeyPem);
}

/** A listener that responds with the user of the client certificate, or 401. */
async function serve(): Promise<void> {
  writePair(tls.serving);
  writeFileSync(folder.join('client-ca.crt'), tls.ca);
  const clientCa = folder.join('client-ca.crt');
  const serving = watchServingCertificate(
    { certificateFile: folder.join('tls.crt'), privateKeyFile: folder.join('tls.key'), clientCaFiles: [clientCa] },
    { watcher },
  );
  const authorities = watcher.watchAuthorities(clientCa);
  const authenticator = new X509Authenticator(
    { now: () => Date.now() },
    { authorities: { current: () => authorities.current } },
  );
  server = await tls.serve(async (exchange) => {
    try {
      const answer = authenticator.authenticate(exchange);
      exchange.respond(200, answer?.user.name ?? 'anonymous');
    } catch (error) {
      exchange.respond(401, (error as Error).message);
    }
  }, serving.current);
  serving.onChange((certificate) => server.reloadCertificate(certificate));
}

/** Serial number of the certificate that a new connection gets. */
function shown(ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: '127.0.0.1', port: server.port, ca }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

test('serving certificate and both CAs are replaced under load without failed requests', async () => {
  await serve();
  const nextServing = await CertificateAuthority.create({ commonName: 'next serving' });
  const nextClients = await CertificateAuthority.create({ commonName: 'next clients' });
  // As in operate.md, clients trust both CAs until every server uses the new certificate.
  const trust = [tls.ca, nextServing.pem.certificatePem];
  const newcomer = await nextClients.issueClient({ user: 'bob' });
  const keptOpen = connectHttp2(`https://127.0.0.1:${server.port}`, {
    ca: trust,
    cert: tls.client.certificatePem,
    key: tls.client.privateKeyPem,
  });
  const load = { stop: false, answers: [] as string[] };
  const note = ({ status, body }: { status: number; body: Buffer }): void =>
    void load.answers.push(`${status} ${body.toString()}`);
  const identity = { ca: trust, cert: tls.client.certificatePem, key: tls.client.privateKeyPem };
  const running = [
    async () => note(await tls.ask2(keptOpen, { ':path': '/' })),
    async () => note(await tls.ask1(server, '/', identity)),
    async () => note(await tls.ask1(server, '/', identity)),
  ].map(async (ask) => {
    while (!load.stop) await ask();
  });
  try {
    await eventually(() => expect(load.answers.length).toBeGreaterThan(50));
    const before = await shown(tls.ca);

    appendFileSync(folder.join('client-ca.crt'), nextClients.pem.certificatePem);
    writePair(await nextServing.issueServer({ commonName: 'localhost', ipAddresses: ['127.0.0.1'] }));
    watcher.check();
    expect(await shown(nextServing.pem.certificatePem)).not.toBe(before);
    const asNewcomer = await tls.ask1(server, '/', {
      ca: trust,
      cert: newcomer.certificatePem,
      key: newcomer.privateKeyPem,
    });
    expect([asNewcomer.status, asNewcomer.body.toString()]).toEqual([200, 'bob']);

    const soFar = load.answers.length;
    await eventually(() => expect(load.answers.length).toBeGreaterThan(soFar + 50));
    load.stop = true;
    await Promise.all(running);
    expect(new Set(load.answers)).toEqual(new Set(['200 alice']));

    // After the old CA is removed, requests on existing connections are rejected as well.
    writeFileSync(folder.join('client-ca.crt'), nextClients.pem.certificatePem);
    watcher.check();
    expect((await tls.ask2(keptOpen, { ':path': '/' })).status).toBe(401);
    expect((await tls.ask1(server, '/', identity)).status).toBe(401);
  } finally {
    load.stop = true;
    await Promise.allSettled(running);
    keptOpen.destroy();
  }
});

test('a listener does not start with an empty client CA bundle', () => {
  writePair(tls.serving);
  writeFileSync(folder.join('client-ca.crt'), '');
  expect(() =>
    watchServingCertificate(
      {
        certificateFile: folder.join('tls.crt'),
        privateKeyFile: folder.join('tls.key'),
        clientCaFiles: [folder.join('client-ca.crt')],
      },
      { watcher },
    ),
  ).toThrow('client-ca.crt: not a complete PEM bundle of certificates');
});

import { writeFileSync } from 'node:fs';
import { createServer as createProxy } from 'node:http';
import { createServer, type Server } from 'node:https';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CertificateWatcher, silentLogger, systemClock } from '@multiplane/component-base';
import { CertificateAuthority } from '@multiplane/component-base/pki';
import { TempDir, testCertificates } from '@multiplane/testing';
import { clientConfigOf, readClientConfig, readKubeconfig, watchClientConfig } from './kubeconfig.ts';
import { RestTransport } from './rest-transport.ts';

let folder: TempDir;
let server: Server;
const serving = await testCertificates('serving');
const clients = await CertificateAuthority.create({ commonName: 'clients' });

beforeEach(async () => {
  folder = await TempDir.create('kubeconfig');
  server = createServer(
    {
      cert: serving.server.certificatePem,
      key: serving.server.privateKeyPem,
      ca: clients.pem.certificatePem,
      requestCert: true,
    },
    (request, response) => {
      const user = (request.socket as TLSSocket).getPeerCertificate().subject.CN;
      response.end(JSON.stringify({ user, port: request.socket.remotePort }));
    },
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  writeFileSync(folder.join('ca.crt'), serving.authorityPem);
  writeFileSync(
    folder.join('kubeconfig'),
    JSON.stringify({
      clusters: [
        {
          name: 'c',
          cluster: {
            server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
            'certificate-authority': 'ca.crt',
          },
        },
      ],
      users: [{ name: 'u', user: { 'client-certificate': 'tls.crt', 'client-key': 'tls.key' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await folder.remove();
});

async function becomeUser(user: string): Promise<void> {
  const pair = await clients.issueClient({ user });
  writeFileSync(folder.join('tls.crt'), pair.certificatePem);
  writeFileSync(folder.join('tls.key'), pair.privateKeyPem);
}

test('a transport over a watched kubeconfig uses a replaced certificate from its next request on', async () => {
  await becomeUser('before');
  const watcher = new CertificateWatcher({}, { clock: systemClock, logger: silentLogger });
  const config = watchClientConfig({ file: folder.join('kubeconfig') }, { watcher });
  const transport = new RestTransport({ config: () => config.current });
  try {
    const ask = () => transport.json({ method: 'GET', path: '/' });
    const first = await ask();
    expect(first).toMatchObject({ user: 'before' });
    expect(await ask()).toEqual(first);
    await becomeUser('after');
    watcher.check();
    expect(await ask()).toMatchObject({ user: 'after' });
  } finally {
    transport.close();
  }
});

test('requests go through the proxy of the cluster', async () => {
  await becomeUser('proxied');
  const asked: (string | undefined)[] = [];
  const proxy = createProxy().on('connect', ({ url }, socket) => {
    asked.push(url);
    const upstream = connect(Number(url?.split(':')[1]), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const file = folder.join('kubeconfig');
  const config = readKubeconfig(file);
  for (const { cluster } of config.clusters)
    cluster['proxy-url'] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const transport = new RestTransport({ config: clientConfigOf(config, file) });
  try {
    expect(await transport.json({ method: 'GET', path: '/' })).toMatchObject({ user: 'proxied' });
    expect(asked).toEqual([new URL(transport.origin).host]);
  } finally {
    transport.close();
    proxy.close();
  }
});

test('an unreadable kubeconfig is refused with its name', () => {
  const watcher = new CertificateWatcher({}, { clock: systemClock, logger: silentLogger });
  expect(() => watchClientConfig({ file: folder.join('nothing') }, { watcher })).toThrow(folder.join('nothing'));
});

test.each([
  ['[]', 'must be a kubeconfig, got array'],
  ['{clusters: [{name: c}]}', 'clusters[0].cluster: Required value'],
  ['{users: [{name: u, user: {token: 5}}]}', 'users[0].user.token: must be of type string, got number'],
  ['{contexts: {}}', 'contexts: must be of type array, got object'],
  ['{clusters: null}', 'the kubeconfig has no current context'],
  [
    '{clusters: [{name: c, cluster: {server: nowhere}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}',
    'invalid server URL: "nowhere"',
  ],
  ['{', 'yaml: '],
])('the kubeconfig %s of a server is refused with file and path', (text, problem) => {
  const file = folder.join('invalid');
  writeFileSync(file, text);
  expect(() => readClientConfig({ file })).toThrow(`${file}: ${problem}`);
});

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CertificateAuthority, writeCertificate } from '@multiplane/component-base/pki';
import { RestTransport, type ClientConfig } from '@multiplane/client';
import { eventually, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

interface Seen {
  readonly url: string;
  readonly certificate: string;
  readonly headers: IncomingMessage['headers'];
  readonly groups: readonly string[];
}

/** A shard with an external virtual workspace server that echoes its requests. */
describe('external virtual workspaces', () => {
  let folder: TempDir;
  let outside: Server;
  let shard: InProcessShard;
  let user: ClientConfig;
  const watches: ServerResponse[] = [];
  let closed = 0;

  beforeAll(async () => {
    folder = await TempDir.create('services');
    const authority = await CertificateAuthority.create({ commonName: 'test' });
    const serving = await authority.issueServer({ commonName: 'vw', ipAddresses: ['127.0.0.1'] });
    const client = await authority.issueClient({ user: 'kcp-shard' });
    const files = { certificateFile: folder.join('shard.crt'), privateKeyFile: folder.join('shard.key') };
    await writeCertificate(files, client);
    await writeCertificate(
      { certificateFile: folder.join('ca.crt'), privateKeyFile: folder.join('ca.key') },
      authority.pem,
    );
    outside = createServer(
      { cert: serving.certificatePem, key: serving.privateKeyPem, ca: authority.pem.certificatePem, requestCert: true },
      (request, response) => {
        if (request.url?.includes('watch=') === true) {
          watches.push(response);
          response.on('close', () => closed++);
          response.write('{"type":"ADDED"}\n');
          return;
        }
        const seen: Seen = {
          url: request.url ?? '',
          certificate: String((request.socket as TLSSocket).getPeerCertificate().subject?.CN),
          headers: request.headers,
          groups: request.headersDistinct['x-remote-group'] ?? [],
        };
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(seen));
      },
    ).listen(0, '127.0.0.1');
    await once(outside, 'listening');
    await writeFile(folder.join('tokens.csv'), 'alice-token,alice,u-1,"team-a,team-b"\n');
    shard = await InProcessShard.start([
      '--storage-backend=memory',
      '--run-virtual-workspaces=false',
      `--shard-virtual-workspace-url=https://127.0.0.1:${(outside.address() as AddressInfo).port}`,
      `--shard-virtual-workspace-ca-file=${folder.join('ca.crt')}`,
      `--shard-client-cert-file=${files.certificateFile}`,
      `--shard-client-key-file=${files.privateKeyFile}`,
      `--token-auth-file=${folder.join('tokens.csv')}`,
    ]);
    user = { server: shard.transport.origin, insecure: true, token: 'alice-token' };
  }, 120_000);
  afterAll(async () => {
    for (const watch of watches) watch.end();
    await shard[Symbol.asyncDispose]();
    outside.close();
    outside.closeAllConnections();
    await folder.remove();
  });

  async function ask(config: ClientConfig, path: string): Promise<Seen> {
    const transport = new RestTransport({ config });
    try {
      return (await transport.json({ method: 'GET', path })) as unknown as Seen;
    } finally {
      transport.close();
    }
  }

  test('get the user in headers from a shard with a client certificate', async () => {
    const seen = await ask(user, '/services/apiexport/root/x/clusters/*/api/v1/namespaces?limit=5');
    expect(seen.url).toBe('/services/apiexport/root/x/clusters/*/api/v1/namespaces?limit=5');
    expect(seen.certificate).toBe('kcp-shard');
    expect(seen.headers).toMatchObject({ 'x-remote-user': 'alice', 'x-remote-uid': 'u-1' });
    expect(seen.groups).toEqual(['team-a', 'team-b', 'system:authenticated']);
    expect(seen.headers.authorization).toBeUndefined();
  });

  test('get anonymous requests without identity headers', async () => {
    const { headers, groups } = await ask({ ...user, token: undefined }, '/services/x');
    expect([headers['x-remote-user'], groups]).toEqual([undefined, []]);
  });

  test('stream watches until the client closes them', async () => {
    const transport = new RestTransport({ config: user });
    const path = '/services/replication/a/b/clusters/c/api/v1/configmaps?watch=true';
    const response = await transport.open({ method: 'GET', path, longRunning: true });
    const [first] = (await once(response, 'data')) as [Buffer];
    expect(first.toString()).toBe('{"type":"ADDED"}\n');
    watches[0]?.write('{"type":"MODIFIED"}\n');
    const [second] = (await once(response, 'data')) as [Buffer];
    expect(second.toString()).toBe('{"type":"MODIFIED"}\n');
    response.destroy();
    await eventually(() => expect(closed).toBe(1));
    transport.close();
  });

  test('do not get the paths of the shard', async () => {
    await expect(ask(user, '/clusters/root/services/x')).rejects.toThrow('forbidden');
  });
});

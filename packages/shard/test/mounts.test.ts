import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, request as httpsRequest, type Server } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, JsonObject, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { ClientConfig } from '@multiplane/client';
import { CertificateAuthority, writeCertificate } from '@multiplane/component-base/pki';
import { eventually, TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const root = 'root' as LogicalClusterName;
const workspaces: GroupVersionResource = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaces' };
const gates: GroupVersionResource = { group: 'example.dev', version: 'v1', resource: 'gates' };
const mergePatch = 'application/merge-patch+json';
const definition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gates.example.dev' },
  spec: {
    group: 'example.dev',
    scope: 'Cluster',
    names: { plural: 'gates', singular: 'gate', kind: 'Gate', listKind: 'GateList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              status: { type: 'object', properties: { URL: { type: 'string' }, phase: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
};

/** A shard with mounted workspaces. */
describe('mounted workspaces', () => {
  let folder: TempDir;
  let shard: InProcessShard;
  let external: Server;
  let target: LogicalClusterName;
  let alice: ClientConfig;
  let bob: ClientConfig;
  const seen: IncomingMessage[] = [];

  beforeAll(async () => {
    folder = await TempDir.create('mounts');
    const authority = await CertificateAuthority.create({ commonName: 'mounts' });
    const serving = await authority.issueServer({ commonName: 'external', ipAddresses: ['127.0.0.1'] });
    const client = await authority.issueClient({ user: 'kcp-mounts-proxy' });
    const files = { certificateFile: folder.join('client.crt'), privateKeyFile: folder.join('client.key') };
    await writeCertificate(files, client);
    await writeFile(folder.join('mounts-ca.crt'), authority.pem.certificatePem);
    await writeFile(folder.join('tokens.csv'), 'alice-token,alice,u-1,"system:kcp:admin"\nbob-token,bob,u-2\n');
    external = createServer({ cert: serving.certificatePem, key: serving.privateKeyPem }, (request, response) => {
      seen.push(request);
      response.end('{"kind":"External"}');
    }).listen(0, '127.0.0.1');
    await once(external, 'listening');
    shard = await InProcessShard.start([
      '--storage-backend=memory',
      '--feature-gates=WorkspaceMounts=true',
      `--token-auth-file=${folder.join('tokens.csv')}`,
      `--requestheader-client-ca-file=${folder.join('mounts-ca.crt')}`,
      '--requestheader-allowed-names=kcp-mounts-proxy',
      `--mount-proxy-client-cert-file=${files.certificateFile}`,
      `--mount-proxy-client-key-file=${files.privateKeyFile}`,
      '--webhook-allowed-networks=127.0.0.1',
    ]);
    alice = { server: shard.transport.origin, insecure: true, token: 'alice-token' };
    bob = { ...alice, token: 'bob-token' };
    target = await ready('target');
    await shard.client.create(
      { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' },
      root,
      definition,
    );
  }, 120_000);
  afterAll(async () => {
    await shard[Symbol.asyncDispose]();
    external.close();
    external.closeAllConnections();
    await folder.remove();
  });

  const at = (name: string) => ({ cluster: root, namespace: '', name });
  const create = (name: string, spec: JsonObject): Promise<KubeObject> =>
    shard.client.create(workspaces, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name },
      spec,
    });
  const statusOf = async (name: string) =>
    (await shard.client.get(workspaces, at(name)))['status'] as {
      phase?: string;
      conditions?: { type: string; status: string; reason?: string; message?: string }[];
    };
  async function ready(name: string): Promise<LogicalClusterName> {
    await create(name, { type: { name: 'universal', path: 'root' } });
    await eventually(async () => expect((await statusOf(name)).phase).toBe('Ready'));
    return ((await shard.client.get(workspaces, at(name)))['spec'] as { cluster: LogicalClusterName }).cluster;
  }
  const mountTo = (name: string): Promise<KubeObject> =>
    create(name, { mount: { ref: { apiVersion: 'example.dev/v1', kind: 'Gate', name } } });
  const gate = (name: string, status: JsonObject): Promise<KubeObject> =>
    eventually(() =>
      shard.client.create(gates, root, {
        apiVersion: 'example.dev/v1',
        kind: 'Gate',
        metadata: { name },
        status,
      }),
    );
  async function get(
    path: string,
    config = alice,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ code: number; text: string }> {
    const authorization = config.token === undefined ? {} : { authorization: `Bearer ${config.token}` };
    const request = httpsRequest(new URL(path, config.server), {
      headers: { ...authorization, ...headers },
      rejectUnauthorized: false,
      agent: false,
    }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString();
    return { code: response.statusCode ?? 0, text };
  }

  test('wait for the referenced object, and report it in a condition', async () => {
    await mountTo('waiting');
    await eventually(async () =>
      expect(await statusOf('waiting')).toMatchObject({
        phase: 'Unavailable',
        conditions: [
          {
            type: 'WorkspaceMountReady',
            status: 'False',
            reason: 'MountObjectNotFound',
            message: 'Gate "/waiting" not found',
          },
        ],
      }),
    );
    expect((await get('/clusters/root:waiting/api', { ...alice, token: undefined })).code).toBe(403);
    await gate('waiting', { phase: 'Connecting' });
    await eventually(async () =>
      expect((await statusOf('waiting')).conditions?.[0]?.message).toBe(
        'Mount is not reporting ready. See Gate "waiting" status for more details',
      ),
    );
    await shard.client.delete(workspaces, at('waiting'));
  });

  test('of the same control plane authenticate the original user', async () => {
    await mountTo('here');
    await gate('here', { phase: 'Ready', URL: `${shard.transport.origin}/clusters/${target}` });
    await eventually(async () => expect((await statusOf('here')).phase).toBe('Ready'));
    const path = '/clusters/root:here/apis/core.kcp.io/v1alpha1/logicalclusters?limit=1';
    const answer = await get(path);
    expect(answer.code).toBe(200);
    expect(answer.text).toContain(`"kcp.io/cluster":"${target}"`);
    expect((await get(path, { ...alice, token: undefined })).code).toBe(403);
    expect((await get(path, { ...alice, token: 'wrong' })).code).toBe(401);

    await shard.client.patch(gates, at('here'), mergePatch, { status: { phase: 'Initializing' } });
    await eventually(async () => expect(await get(path)).toEqual({ code: 503, text: 'Not available.\n' }));
  });

  test('reject users without access to the target', async () => {
    await mountTo('disguise');
    await gate('disguise', { phase: 'Ready', URL: `${shard.transport.origin}/clusters/${target}` });
    await eventually(async () => expect((await statusOf('disguise')).phase).toBe('Ready'));
    const path = '/clusters/root:disguise/api/v1/namespaces/default';
    expect((await get(path)).code).toBe(200);
    expect((await get(path, bob)).code).toBe(403);
  });

  test.each([
    { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' },
    { 'X-Remote-Group': 'system:masters', 'x-remote-extra-authorization.kcp.io%2fwarrant': '{"user":"admin"}' },
    { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' },
    { connection: 'x-remote-user', 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' },
  ])('ignore identity headers of the client: %j', async (headers) => {
    const path = '/clusters/root:disguise/api/v1/namespaces/default';
    expect((await get(path, bob, headers)).code).toBe(403);
    expect((await get(path, { ...alice, token: undefined }, headers)).code).toBe(403);
  });

  test('that lead to themselves fail', async () => {
    await mountTo('circle');
    await gate('circle', { phase: 'Ready', URL: `${shard.transport.origin}/clusters/root:circle` });
    await eventually(async () => expect((await statusOf('circle')).phase).toBe('Ready'));
    expect((await get('/clusters/root:circle/api')).code).toBe(508);
  });

  test('cannot be told apart by why they are not reached', async () => {
    const { port } = external.address() as AddressInfo;
    const own = shard.transport.origin;
    const urls = {
      // An untrusted certificate, a closed port, refused addresses, a name without address.
      stranger: `https://127.0.0.1:${port}/clusters/x`,
      closed: 'https://127.0.0.1:1/clusters/x',
      neighbour: `https://127.0.0.2:${port}/clusters/x`,
      private: 'https://10.0.0.1/clusters/x',
      metadata: 'https://169.254.169.254/latest',
      nowhere: 'https://nowhere.invalid/clusters/x',
      // Other paths of this control plane.
      cache: `${own}/services/cache`,
      metrics: `${own}/metrics`,
      everything: `${own}/clusters/*`,
    };
    for (const [name, URL] of Object.entries(urls)) {
      await mountTo(name);
      await gate(name, { phase: 'Ready', URL });
    }
    for (const name of Object.keys(urls)) {
      await eventually(async () => expect((await statusOf(name)).phase).toBe('Ready'));
      const { code, text } = await get(`/clusters/root:${name}/api`);
      const { message } = JSON.parse(text) as { message: string };
      expect([name, code, message]).toEqual([name, 503, 'the target of the workspace mount cannot be reached']);
    }
    expect(seen).toEqual([]);
  });

  test('are not accessed by impersonation', async () => {
    const headers = { 'impersonate-user': 'bob' };
    const path = '/clusters/root:disguise/api/v1/namespaces/default';
    expect((await get(path, alice, headers)).code).toBe(403);
  });

  test('do not affect a workspace that already has a logical cluster', async () => {
    await shard.client.patch(workspaces, at('target'), mergePatch, {
      spec: { mount: { ref: { apiVersion: 'example.dev/v1', kind: 'Gate', name: 'here' } } },
    });
    expect((await get('/clusters/root:target/api')).code).toBe(200);
    expect((await statusOf('target')).phase).toBe('Ready');
  });
});

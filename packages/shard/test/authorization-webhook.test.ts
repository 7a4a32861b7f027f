import { createServer, type Server } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { encodeYaml, parseJson, type JsonObject } from '@multiplane/apimachinery';
import { clientConfigOf, readKubeconfig, RestTransport } from '@multiplane/client';
import { TempDir } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

interface Asked {
  readonly user: string;
  readonly resource: string | undefined;
  readonly extra: JsonObject | undefined;
}

describe('an authorization webhook', () => {
  let folder: TempDir;
  let webhook: Server;
  let shard: InProcessShard;
  const asked: Asked[] = [];
  /** The decisions of the webhook by resource name. */
  const says: Record<string, JsonObject> = {
    secrets: { allowed: true },
    configmaps: { allowed: false, denied: true, reason: 'not these' },
  };
  beforeAll(async () => {
    folder = await TempDir.create('authorization-webhook');
    webhook = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const review = parseJson(Buffer.concat(chunks).toString()) as {
          spec: { user: string; resourceAttributes?: JsonObject; extra?: JsonObject };
        };
        const { user, resourceAttributes, extra } = review.spec;
        const resource = resourceAttributes?.['resource'] as string | undefined;
        asked.push({ user, resource, extra });
        response.end(JSON.stringify({ ...review, status: says[resource ?? ''] ?? { allowed: false } }));
      });
    });
    webhook.listen(0, '127.0.0.1');
    await once(webhook, 'listening');
    const server = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/authorize`;
    await writeFile(folder.join('tokens.csv'), 'secret,ann,1\n');
    await writeFile(
      folder.join('webhook.kubeconfig'),
      encodeYaml({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'w',
        clusters: [{ name: 'w', cluster: { server } }],
        contexts: [{ name: 'w', context: { cluster: 'w', user: 'w' } }],
        users: [{ name: 'w', user: {} }],
      }),
    );
    shard = await InProcessShard.start([
      '--storage-backend=memory',
      `--token-auth-file=${folder.join('tokens.csv')}`,
      `--authorization-webhook-config-file=${folder.join('webhook.kubeconfig')}`,
      '--authorization-order=AlwaysAllowGroups,Webhook,AlwaysAllowPaths,RBAC',
    ]);
  }, 120_000);
  afterAll(async () => {
    await shard[Symbol.asyncDispose]();
    webhook.closeAllConnections();
    webhook.close();
    await folder.remove();
  });

  async function ask(path: string, body?: string): Promise<[number, string]> {
    const kubeconfig = shard.directory.join('root', 'admin.kubeconfig');
    const config = clientConfigOf(readKubeconfig(kubeconfig), kubeconfig, 'base');
    const transport = new RestTransport({ config: { ...config, token: 'secret' } });
    try {
      const response = await transport.open(
        body === undefined ? { method: 'GET', path } : { method: 'POST', path, body },
      );
      const chunks: Buffer[] = [];
      for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
      return [response.statusCode ?? 0, Buffer.concat(chunks).toString()];
    } finally {
      transport.close();
    }
  }

  test('decides first if it is first in the order, and leaves requests without opinion to the next authorizers', async () => {
    expect((await ask('/clusters/root/api/v1/namespaces/default/secrets'))[0]).toBe(200);
    const [code, text] = await ask('/clusters/root/api/v1/namespaces/default/configmaps');
    expect([code, text]).toEqual([403, expect.stringContaining('not these')]);
    expect((await ask('/clusters/root/api/v1/namespaces/default/services'))[0]).toBe(403);
    expect((await ask('/healthz'))[0]).toBe(200);
    expect(asked).toContainEqual({
      user: 'ann',
      resource: 'secrets',
      extra: { 'authorization.kcp.io/cluster-name': ['root'] },
    });
  });

  test('is not called for system:masters, and its decisions are cached', async () => {
    const before = asked.length;
    await ask('/clusters/root/api/v1/namespaces/default/secrets');
    await shard.transport.json({ method: 'GET', path: '/clusters/root/api/v1/secrets' });
    expect(asked.length).toBe(before);
  });

  test('marks rule lists as incomplete', async () => {
    says['selfsubjectrulesreviews'] = { allowed: true };
    const [code, text] = await ask(
      '/clusters/root/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
      '{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":{"namespace":"default"}}',
    );
    expect([code, (JSON.parse(text) as { status: JsonObject }).status]).toMatchObject([
      201,
      { incomplete: true, evaluationError: 'webhook authorizer does not support user rule resolution' },
    ]);
  });
});

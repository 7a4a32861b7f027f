import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { clientConfigOf, readKubeconfig, RestTransport } from '@multiplane/client';
import { eventually } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const root = 'root' as LogicalClusterName;

describe('batteries', () => {
  let shard: InProcessShard;
  let kubeconfig: string;
  beforeAll(async () => {
    shard = await InProcessShard.start(['--storage-backend=memory', '--batteries-included=+user,+metrics-viewer']);
    kubeconfig = shard.directory.join('root', 'admin.kubeconfig');
  }, 120_000);
  afterAll(() => shard[Symbol.asyncDispose]());

  async function status(token: string | undefined, path: string): Promise<number | undefined> {
    const config = clientConfigOf(readKubeconfig(kubeconfig), kubeconfig, 'base');
    const transport = new RestTransport({ config: { ...config, token } });
    try {
      const response = await transport.open({ method: 'GET', path });
      response.resume();
      return response.statusCode;
    } finally {
      transport.close();
    }
  }

  test('user: creates a user without rights', async () => {
    const { token, server } = clientConfigOf(readKubeconfig(kubeconfig), kubeconfig, 'user');
    expect(server).toMatch(/\/clusters\/root$/);
    expect(await status(token, '/clusters/root/apis')).toBe(200);
    expect(await status(token, '/clusters/root/api/v1/secrets')).toBe(403);
    expect(await status(token, '/metrics')).toBe(403);
    expect(await status(token, '/clusters/%2A/metrics')).toBe(403);
  });

  test('metrics-viewer: creates a token that can only read metrics', async () => {
    const token = await eventually(async () => {
      const secret = await shard.client.get(
        { group: '', version: 'v1', resource: 'secrets' },
        { cluster: root, namespace: 'default', name: 'metrics' },
      );
      const { token: encoded } = (secret['data'] ?? {}) as { token?: string };
      expect(encoded).toBeDefined();
      return Buffer.from(encoded ?? '', 'base64').toString();
    });
    expect(await status(token, '/metrics')).toBe(200);
    // `/clusters/*` is no workspace: these are the metrics of the server, with the same authorization.
    expect(await status(token, '/clusters/%2A/metrics')).toBe(200);
    expect(await status(token, '/clusters/root/metrics')).toBe(501);
    expect(await status(token, '/clusters/root/api/v1/secrets')).toBe(403);
  });
});

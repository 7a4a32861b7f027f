import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ControlPlane } from '../harness/control-plane.ts';
import { startControlPlane } from '../harness/start-control-plane.ts';
import { Requests } from '../harness/requests.ts';
import { createWorkspace } from '../harness/workspaces.ts';

let cluster: ControlPlane;
beforeAll(async () => {
  cluster = await startControlPlane({ ownProcesses: true, flags: ['--feature-gates=CacheAPIs=false'] });
}, 120_000);
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

test('without the feature gate CacheAPIs no workspace has the API of cached resources', async () => {
  const admin = cluster.transport('shard-base');
  try {
    await createWorkspace(admin, 'root', 'plain');
  } finally {
    admin.close();
  }
  for (const workspace of ['root', 'root:plain']) {
    using requests = new Requests(cluster, `/clusters/${workspace}`);
    const groups = (await requests.must({ path: '/apis' })).json['groups'] as { readonly name: string }[];
    expect(groups.map(({ name }) => name)).toContain('apis.kcp.io');
    expect(groups.map(({ name }) => name)).not.toContain('cache.kcp.io');
    expect((await requests.send({ path: '/apis/cache.kcp.io/v1alpha1/cachedresources' })).status).toBe(404);
  }
});

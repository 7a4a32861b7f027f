import { expect, test } from '@jest/globals';
import { FakeShard } from '../test/fake-shard.ts';

const listUrl = '/services/initializingworkspaces/a:mine/clusters/*/apis/core.kcp.io/v1alpha1/logicalclusters';

test('a list goes through the handler chain of the shard as the caller', async () => {
  const shard = new FakeShard();
  const reviewed: string[] = [];
  shard.allows = (_spec, cluster) => {
    reviewed.push(cluster);
    return true;
  };
  shard.answer = ({ exchange }) => exchange.respond(200, '{"kind":"LogicalClusterList","items":[]}');
  const { status, body } = await shard.send(listUrl);
  expect([status, body.toString()]).toEqual([200, '{"kind":"LogicalClusterList","items":[]}']);
  expect(reviewed).toEqual(['a']);
  expect(shard.requests.map(({ user }) => user.name)).toEqual(['ann']);
  expect(shard.lines).toEqual([
    expect.stringMatching(/^GET \/clusters\/\*\/apis\/core\.kcp\.io\/v1alpha1\/logicalclusters\?labelSelector=/),
  ]);
});

test('requests that do not reach the handler chain are audited', async () => {
  const shard = new FakeShard();
  shard.allows = () => false;
  expect((await shard.send(listUrl)).status).toBe(403);
  expect(shard.auditEvents).toMatchObject([
    {
      stage: 'ResponseComplete',
      requestURI: listUrl,
      verb: 'list',
      user: { username: 'ann' },
      responseStatus: { code: 403 },
    },
  ]);
});

import { expect, test } from '@jest/globals';
import { FakeShard } from './test-support/fake-shard.ts';

const listUrl = '/services/initializingworkspaces/a:mine/clusters/*/apis/core.kcp.io/v1alpha1/logicalclusters';

test('inside a shard a list goes down the shard’s own chain, in the name of who asked', async () => {
  const shard = new FakeShard();
  const reviewed: string[] = [];
  shard.allows = (_spec, cluster) => {
    reviewed.push(cluster);
    return true;
  };
  shard.answer = ({ exchange }) => exchange.respond(200, '{"kind":"LogicalClusterList","items":[]}');
  const { status, body } = await shard.ask(listUrl);
  expect([status, body.toString()]).toEqual([200, '{"kind":"LogicalClusterList","items":[]}']);
  expect(reviewed).toEqual(['a']);
  expect(shard.asked.map(({ user }) => user.name)).toEqual(['ann']);
  expect(shard.lines).toEqual([
    expect.stringMatching(/^GET \/clusters\/\*\/apis\/core\.kcp\.io\/v1alpha1\/logicalclusters\?labelSelector=/),
  ]);
});

test('the shard’s audit is told of what never gets to its chain', async () => {
  const shard = new FakeShard();
  shard.allows = () => false;
  expect((await shard.ask(listUrl)).status).toBe(403);
  expect(shard.told).toMatchObject([
    {
      stage: 'ResponseComplete',
      requestURI: listUrl,
      verb: 'list',
      user: { username: 'ann' },
      responseStatus: { code: 403 },
    },
  ]);
});

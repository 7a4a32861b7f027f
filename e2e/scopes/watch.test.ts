import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { Requests } from '../harness/requests.ts';
import { here, there } from '../harness/shared-apis.ts';
import { labelKey, Marketplace, mustSucceed, slicesPath, type Cluster } from './marketplace.ts';

let market: Marketplace;
beforeAll(async () => {
  market = await Marketplace.start({ transfer: 'WhenFinalizersGone', transferDeadlineSeconds: 0 });
}, 240_000);
afterAll(async () => {
  await market?.[Symbol.asyncDispose]();
});

test('a watch over all consumers of a shard has the objects of the scope on every shard', async () => {
  const endpoints = await eventually(
    async () => {
      const slice = mustSucceed(await market.shared.requests.send({ path: `${slicesPath}/a` })).json;
      const { endpoints: found = [] } = slice['status'] as { endpoints?: { url: string }[] };
      if (found.length !== (here === there ? 1 : 2)) throw new Error(JSON.stringify(found));
      return found;
    },
    { timeout: 30_000 },
  );
  for (const consumer of ['near', 'far'])
    mustSucceed(await market.create(consumer, `wide-${consumer}`, { [labelKey]: 'a' }));
  const seen: string[] = [];
  for (const { url } of endpoints) {
    const { origin, pathname } = new URL(url);
    using requests = new Requests({ url: origin, ca: market.shared.cluster.ca });
    const path = `${pathname}/clusters/*/apis/marketplace.example/v1/clusters`;
    await eventually(async () => {
      const { json } = mustSucceed(await requests.send({ as: 'user-1', path }));
      seen.push(...(json['items'] as Cluster[]).map(({ metadata }) => metadata.name));
    });
    expect((await requests.send({ as: 'user-2', path })).status).toBe(403);
  }
  expect(seen).toEqual(expect.arrayContaining(['wide-near', 'wide-far']));
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EtcdServer, eventually } from '@multiplane/testing';
import { InProcessShard } from '@multiplane/testing/shard';

const namespaces = '/clusters/root/api/v1/namespaces';
let etcd: EtcdServer;
let shard: InProcessShard;

beforeAll(async () => {
  etcd = await EtcdServer.start();
  shard = await InProcessShard.start([`--etcd-servers=${etcd.endpoint}`]);
}, 120_000);

afterAll(async () => {
  await shard?.[Symbol.asyncDispose]();
  await etcd?.[Symbol.asyncDispose]();
});

async function create(path: string, body: object): Promise<number> {
  const response = await shard.transport.open({ method: 'POST', path, body: JSON.stringify(body) });
  response.resume();
  await new Promise((resolve) => response.once('end', resolve));
  return response.statusCode ?? 0;
}

describe('quotas of a shard', () => {
  test.each(Array.from({ length: 5 }, (_, round) => round))(
    'many creates at once never get more than is left (%i)',
    async (round) => {
      const space = `${namespaces}/limited-${round}`;
      expect(await create(namespaces, { metadata: { name: `limited-${round}` } })).toBe(201);
      const hard = { 'count/secrets': '15' };
      await create(`${space}/resourcequotas`, { metadata: { name: 'few' }, spec: { hard } });
      await eventually(async () =>
        expect(await shard.transport.json({ method: 'GET', path: `${space}/resourcequotas/few` })).toMatchObject({
          status: { hard, used: { 'count/secrets': '0' } },
        }),
      );
      const answers: number[] = [];
      const names = Array.from({ length: 60 }, (_, index) => `s${index}`);
      const client = async (): Promise<void> => {
        for (let name = names.pop(); name !== undefined; name = names.pop())
          answers.push(await create(`${space}/secrets`, { metadata: { name } }));
      };
      await Promise.all(Array.from({ length: 12 }, client));
      expect(new Set(answers)).toEqual(new Set([201, 403]));
      expect(answers.filter((status) => status === 201)).toHaveLength(15);
    },
    30_000,
  );
});

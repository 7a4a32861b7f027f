import { openFileStorage, type Storage } from '@multiplane/storage';
import { openEtcdStorage } from '@multiplane/storage/etcd';
import { EtcdServer } from '@multiplane/testing';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare, type Contender } from './compare.ts';
import { report } from './report.ts';

const writers = 64;
const value = Buffer.alloc(1024, 'x');
let created = 0;

function creates(name: string, store: Storage, concurrency: number): Contender {
  const run = async (iterations: number): Promise<void> => {
    let left = iterations;
    const writer = async (): Promise<void> => {
      while (left-- > 0) {
        const i = created++;
        await store.create(`/registry/core/configmaps/cluster-${i % 500}/default/name-${i}`, value);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, writer));
  };
  return { name, run };
}

const directory = await mkdtemp(join(tmpdir(), 'storage-bench-'));
// Test servers keep their data in the temporary directory too, on the same disk.
await using etcd = await EtcdServer.start();
const file = await openFileStorage({ directory: join(directory, 'file') });
const etcdStore = await openEtcdStorage({ endpoints: [etcd.endpoint] });
for (const concurrency of [writers, 1]) {
  const medians = await compare({
    title: `Durable create of 1 KiB, ${concurrency} at a time, on the same disk`,
    unit: 'create',
    baseline: creates('etcd', etcdStore, concurrency),
    contenders: [creates('file', file, concurrency)],
  });
  const [etcdMs, fileMs] = [medians.get('etcd') ?? NaN, medians.get('file') ?? NaN];
  report({
    name: `durable create, storage contract, ${concurrency} ${concurrency === 1 ? 'writer' : 'writers'}`,
    value: etcdMs / fileMs,
    unit: 'x',
    baseline: 'etcd, same disk, etcd3 client',
    target: concurrency === writers ? { atLeast: 2 } : undefined,
    note: `${Math.round(1000 / fileMs)}/s against ${Math.round(1000 / etcdMs)}/s`,
  });
}
await Promise.all([file.close(), etcdStore.close()]);
await rm(directory, { recursive: true, force: true });

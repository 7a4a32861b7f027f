import { WorkspaceIndex } from '@multiplane/front-proxy';

/*
 * Fills an index with logical clusters whose texts come out of parsed JSON, as those of a watch do, and prints what the
 * process holds.
 */
const count = Number(process.argv[2]);
const shards = 4;
const index = new WorkspaceIndex();
const resident = (): number => {
  globalThis.gc?.();
  // What one collection finds of buffers is given back beside it, and by then at the latest: the next one waits for that.
  globalThis.gc?.();
  return process.memoryUsage.rss();
};
const clusterName = (n: number): string => (n * 7_919 + 1_000_000_007).toString(36).padStart(16, 'abcdefghijklmnop');

for (let shard = 0; shard < shards; shard++) {
  const url = new URL(`https://shard-${shard}:6443`);
  index.setShard(`shard-${shard}`, { baseUrl: url, virtualWorkspaceUrl: url, externalUrl: url });
}
const before = resident();
for (let n = 0; n < count; n += 1_000) {
  for (let i = n; i < n + 1_000; i++) put(i);
  await new Promise((resolve) => setImmediate(resolve));
}
const after = resident();
const found = index.lookup(`${clusterName(0)}:workspace-number-${count - 1}`);
if (found?.kind !== 'cluster') throw new Error('what was put in is not found');
console.log(JSON.stringify({ resident: after, grown: after - before }));

/** Every cluster is a child of the first: a flat hierarchy has the longest keys. */
function put(n: number): void {
  const shard = `shard-${n % shards}`;
  const text = JSON.stringify({
    cluster: clusterName(n),
    parent: clusterName(0),
    name: `workspace-number-${n}`,
    type: 'root:universal',
  });
  const { cluster, parent, name, type } = JSON.parse(text) as Record<'cluster' | 'parent' | 'name' | 'type', string>;
  index.putCluster(shard, cluster, type);
  index.putWorkspace('shard-0', { parent, name, cluster, phase: 'Ready', mountUrl: undefined });
}

import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OptionError, writeFileAtomic } from '@multiplane/component-base';
import { builtInPrefix, openFileStorage, parseObjectKey } from '@multiplane/storage';

/** What the root directory of `start --shards` holds. */
export interface ShardedRecord {
  /** The first one is `root`. */
  readonly shards: readonly string[];
  /** Shards that were taken away, whose Shard object may still exist. */
  readonly removed: readonly string[];
}

const maxShards = 64;
const recordFile = (rootDirectory: string): string => join(rootDirectory, 'shards.json');

/** The shards of a root directory; undefined for that of a single process, and for a new one. */
export function readRecord(rootDirectory: string): ShardedRecord | undefined {
  const file = recordFile(rootDirectory);
  if (!existsSync(file)) return undefined;
  const { shards, removed } = JSON.parse(readFileSync(file, 'utf8')) as ShardedRecord;
  if (!Array.isArray(shards) || shards[0] !== 'root' || !Array.isArray(removed))
    throw new Error(`${file} is not a list of shards`);
  return { shards, removed };
}

export async function writeRecord(rootDirectory: string, record: ShardedRecord): Promise<void> {
  await mkdir(rootDirectory, { recursive: true, mode: 0o700 });
  await writeFileAtomic(recordFile(rootDirectory), `${JSON.stringify(record)}\n`, 0o600);
}

/**
 * The number of shards that `--shards` asks for; undefined: as many as there are, and a single process when there are none. `auto`
 * is the number of processors, and never takes a shard away. Throws OptionError.
 */
export function wantedShards(flag: string | undefined, existing: number | undefined): number | undefined {
  if (flag === undefined) return existing;
  if (flag === 'auto') return Math.min(maxShards, Math.max(availableParallelism(), existing ?? 1));
  const count = /^\d+$/.test(flag) ? Number(flag) : Number.NaN;
  if (!(count >= 1 && count <= maxShards))
    throw new OptionError(`--shards must be auto or a number between 1 and ${maxShards}, not ${JSON.stringify(flag)}`);
  return count;
}

/**
 * The record with `count` shards. Shards that are added are called `shard-1`, `shard-2`, …, and the last ones are taken away. Throws an
 * OptionError that says how to proceed while one of those still has logical clusters.
 */
export async function resized(
  rootDirectory: string,
  { shards, removed }: ShardedRecord,
  count: number,
): Promise<ShardedRecord> {
  const wanted = Array.from({ length: count }, (_, index) => (index === 0 ? 'root' : `shard-${index}`));
  const leaving = shards.filter((name) => !wanted.includes(name));
  for (const name of leaving) {
    const left = await logicalClustersIn(join(rootDirectory, name));
    if (left > 0)
      throw new OptionError(
        `--shards=${count} would take ${name} away, which has ${left} logical ${left === 1 ? 'cluster' : 'clusters'}: start with --shards=${shards.length}, delete its workspaces or restore snapshots of them elsewhere (multiplane snapshot), and stop before you start with fewer shards`,
      );
  }
  return { shards: wanted, removed: [...new Set([...removed, ...leaving])].filter((name) => !wanted.includes(name)) };
}

/** Counts the logical clusters of users in the store of a stopped shard; those of the shard itself are named `system:…`. */
async function logicalClustersIn(directory: string): Promise<number> {
  if (!existsSync(join(directory, 'data'))) return 0;
  const prefix = builtInPrefix('core.kcp.io', 'logicalclusters');
  const store = await openFileStorage({ directory: join(directory, 'data') });
  try {
    const { items } = await store.list(prefix);
    return items.filter(({ key }) => !(parseObjectKey(prefix, key)?.cluster ?? '').startsWith('system:')).length;
  } finally {
    await store.close();
  }
}

/**
 * The authorities and the token key of a single process become those of all processes, so that clients, certificates and tokens
 * that it issued stay valid. Each pair is copied once, its key last: what exists in the PKI is never replaced.
 */
export async function adoptAuthorities(rootDirectory: string, pki: string): Promise<void> {
  const copies = [
    ['ca.crt', 'serving-ca.crt'],
    ['ca.key', 'serving-ca.key'],
    ['client-ca.crt', 'client-ca.crt'],
    ['client-ca.key', 'client-ca.key'],
    ['workspace-ca.crt', 'workspace-ca.crt'],
    ['workspace-ca.key', 'workspace-ca.key'],
    ['sa.key', 'service-account.key'],
  ] as const;
  await mkdir(pki, { recursive: true, mode: 0o700 });
  for (const [from, to] of copies) {
    const [source, target] = [join(rootDirectory, from), join(pki, to)];
    if (existsSync(source) && !existsSync(target)) await copyFile(source, target);
  }
}

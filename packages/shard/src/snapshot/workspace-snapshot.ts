import { parseJson, pathAnnotation, statusErrors, type KubeObject } from '@multiplane/apimachinery';
import { identitySegments } from '@multiplane/apiserver';
import { timeSlices } from '@multiplane/component-base';
import { logicalClusters, workspaces } from '@multiplane/controllers';
import {
  customResourcePrefix,
  registryPrefix,
  SnapshotEncoder,
  type CacheSnapshot,
  type SnapshotHeader,
  type WatchCache,
} from '@multiplane/storage';

export const logicalClusterPrefix = customResourcePrefix(logicalClusters.group, logicalClusters.resource);
export const workspacePrefix = customResourcePrefix(workspaces.group, workspaces.resource);

const pageKeys = 200;
/** Values that no provider could decrypt are kept in the cache as they are stored. */
const encrypted = Buffer.from('k8s:enc:');

export interface WorkspaceSnapshotOptions extends Pick<SnapshotHeader, 'shard' | 'backend' | 'createdAt'> {
  /** Canonical path of the workspace. */
  readonly path: string;
}

/**
 * The chunks of a snapshot of what this shard has of a workspace and its subtree: logical clusters whose path is that of the
 * workspace or below it, all objects in them, and the Workspace object of the workspace itself, if its parent is here.
 *
 *   consistency   the state of exactly one revision of this shard, at least as new as the request. Other shards are read at
 *                 another moment: each logical cluster is consistent, the subtree is not.
 *   cost          that of the subtree, not of the store: one scan over the LogicalClusters, then one range per kind and
 *                 logical cluster in the watch cache
 *   left out      logical clusters that are being deleted, with their content
 *
 * Values are plain: the target encrypts them with its own keys. Throws when one cannot be decrypted.
 */
export async function* saveWorkspace(
  { path, ...header }: WorkspaceSnapshotOptions,
  { cache, builtIn }: { readonly cache: WatchCache; readonly builtIn: ReadonlySet<string> },
): AsyncGenerator<Buffer, void, undefined> {
  await cache.freshRevision();
  await cache.valuesLoaded;
  // Both without a wait in between, so that the prefixes are those of the state.
  const state = cache.snapshot(registryPrefix);
  const prefixes = contentPrefixes(cache, builtIn);
  const { inside, parent } = await subtree(state, path);
  const cluster = inside.get(path) ?? '';
  const encoder = new SnapshotEncoder({ ...header, revision: state.revision, workspace: { path, cluster } });
  const name = path.slice(path.lastIndexOf(':') + 1);
  const scopes = [
    ...(parent === undefined ? [] : [`${workspacePrefix}${parent}/${name}`]),
    ...prefixes.flatMap((prefix) => Array.from(inside.values(), (each) => `${prefix}${each}/`)),
  ];
  const slices = timeSlices();
  for (const scope of scopes) {
    for (let from = scope; ;) {
      const page = state.entries(from, pageKeys).filter(({ key }) => key.startsWith(scope));
      for (const { key, value, revision } of page) {
        if (!scope.endsWith('/') && key !== scope) continue;
        if (value.subarray(0, encrypted.length).equals(encrypted))
          throw statusErrors.internal(new Error(`${key} cannot be decrypted`));
        const chunk = encoder.add({ key, value, revision });
        if (chunk !== undefined) yield chunk;
      }
      if (slices.isExceeded) await slices.yield();
      const last = page.at(-1);
      if (last === undefined || page.length < pageKeys) break;
      from = `${last.key}\0`;
    }
  }
  yield encoder.end();
}

function contentPrefixes(cache: WatchCache, builtIn: ReadonlySet<string>): string[] {
  return Array.from(cache.counts().keys()).flatMap((start) =>
    builtIn.has(start) ? [start] : Array.from(identitySegments(cache, start), (identity) => `${start}${identity}/`),
  );
}

/** The logical clusters of a subtree by path, and the logical cluster of the parent of its root; of those that are here. */
async function subtree(
  state: CacheSnapshot,
  path: string,
): Promise<{ readonly inside: ReadonlyMap<string, string>; readonly parent: string | undefined }> {
  const inside = new Map<string, string>();
  const parentPath = path.slice(0, Math.max(0, path.lastIndexOf(':')));
  let parent: string | undefined;
  const slices = timeSlices();
  for (let from = logicalClusterPrefix; ;) {
    const page = state.entries(from, pageKeys).filter(({ key }) => key.startsWith(logicalClusterPrefix));
    for (const { key, value } of page) {
      // Most are elsewhere; decoding all of them would be the largest part of the work.
      if (!value.includes(parentPath)) continue;
      const { metadata } = parseJson(value) as unknown as KubeObject;
      const at = metadata.annotations?.[pathAnnotation];
      if (at === undefined || metadata.deletionTimestamp !== undefined) continue;
      const [cluster = ''] = key.slice(logicalClusterPrefix.length).split('/');
      if (at === parentPath) parent = cluster;
      if (at === path || at.startsWith(`${path}:`)) inside.set(at, cluster);
    }
    if (slices.isExceeded) await slices.yield();
    const last = page.at(-1);
    if (last === undefined || page.length < pageKeys) return { inside, parent };
    from = `${last.key}\0`;
  }
}

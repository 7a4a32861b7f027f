import { existsSync } from 'node:fs';
import { mkdir, rename, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { OptionError, parseOptions, type Command, type OptionTable } from '@multiplane/component-base';
import {
  createFileStoreAt,
  openFileStorage,
  removeUnfinishedStore,
  type Restored,
  restoreSnapshot,
} from '@multiplane/storage';
import type { Environment } from './server-command.ts';
import { assertSnapshotExists, countProgress, snapshotBytes, snapshotStatus } from './snapshot-file.ts';
import { directStoreOptionTable, openEtcd } from './snapshot-store.ts';
import { storeDirectory } from './store-options.ts';
import { restoreWorkspace } from './workspace/restore-workspace.ts';
import {
  checkWorkspacePath,
  connectShards,
  runningKubeconfig,
  shardOptionTable,
} from './workspace/shard-connections.ts';

const { kubeconfig, context } = shardOptionTable;
const table = {
  ...directStoreOptionTable,
  workspace: {
    type: 'text',
    description:
      'Path of the workspace that the snapshot is of: restore it, with all workspaces below it, into the running control plane of --kubeconfig.',
  },
  as: {
    type: 'text',
    description:
      'Path to restore the workspace to, or a name beside the old one; with new logical clusters and uids. Default: its own path.',
  },
  'target-shard': {
    type: 'text',
    description: 'Shard that gets the workspace and all below it. Default: the shard of the parent.',
  },
  kubeconfig,
  context,
  'event-ttl': {
    type: 'duration',
    default: '1h',
    min: '1s',
    max: '8760h',
    description: 'Retention of restored events.',
  },
} as const satisfies OptionTable;

const eventPrefixes = ['/registry/core/events/', '/registry/events.k8s.io/events/'];

/** `multiplane snapshot restore FILE`. */
export const snapshotRestoreCommand = (environment: Environment): Command => ({
  help: {
    usage:
      'multiplane snapshot restore FILE --root-directory DIRECTORY | --etcd-servers SERVERS | --workspace PATH [flags]',
    description: [
      'Restores a snapshot into an empty store, of any backend: a shard can move from the embedded store to etcd and back. The',
      'shard must be stopped. Start it with the name and the keys (root directory, PKI) of the shard that was saved.',
      '',
      'Resource versions: an embedded store continues after the revision of the snapshot. etcd starts at its own revision; when',
      'that is lower, restart clients that keep resource versions.',
      '',
      'With --workspace the control plane runs. Only system:masters sees the workspace before all of it is restored. If the',
      'command ends before that, run it again: it continues. Or delete the workspace. --root-directory names that of the control',
      'plane, in place of its kubeconfig.',
      '',
      'Exit codes: 0 restored; 1 failed. A failed restore leaves no embedded store; in etcd, delete the prefix and try again.',
    ].join('\n'),
    sections: { Flags: table },
  },
  run: async (args) => {
    const { values, operands, given } = parseOptions(table, { args, environment });
    const [path, further] = operands;
    if (path === undefined || further !== undefined) throw new OptionError('one FILE is required');
    assertSnapshotExists(path);
    if (values.workspace !== undefined)
      return await intoWorkspace(path, values.workspace, {
        ...values,
        kubeconfig: runningKubeconfig({ values, given }),
      });
    if (values.as !== undefined || values.targetShard !== undefined)
      throw new OptionError('--as and --target-shard are for --workspace');
    const { rootDirectory, etcdServers } = values;
    if ((rootDirectory === undefined) === (etcdServers.length === 0))
      throw new OptionError('either --root-directory or --etcd-servers is required');
    // Before anything is written: a damaged file leaves the target as it is.
    const { header } = await snapshotStatus(path);
    const onProgress = countProgress('objects', 20_000, (text) => void process.stderr.write(text));
    const ttlSeconds = (key: string): number | undefined =>
      eventPrefixes.some((prefix) => key.startsWith(prefix)) ? Math.ceil(values.eventTtl / 1000) : undefined;
    const options = { onProgress, ttlSeconds };
    const restored =
      rootDirectory === undefined
        ? await intoEtcd(path, values, options)
        : await intoDirectory(
            path,
            { directory: storeDirectory({ rootDirectory }), revision: header.revision },
            options,
          );
    process.stdout.write(`restored ${restored.records} objects of revision ${header.revision}; start the shard\n`);
    return 0;
  },
});

async function intoWorkspace(
  file: string,
  path: string,
  values: {
    readonly kubeconfig: string;
    readonly context: string;
    readonly as: string | undefined;
    readonly targetShard: string | undefined;
    readonly etcdServers: readonly string[];
  },
): Promise<number> {
  if (values.etcdServers.length > 0)
    throw new OptionError('--workspace is restored into a running control plane: omit --etcd-servers');
  checkWorkspacePath('--workspace', path);
  const { as = path } = values;
  const to = checkWorkspacePath('--as', as.includes(':') ? as : `${path.slice(0, path.lastIndexOf(':'))}:${as}`);
  const { header } = await snapshotStatus(file);
  if (header.workspace?.path !== path)
    throw new OptionError(
      header.workspace === undefined
        ? `${file} is of a whole store: take a snapshot with --workspace`
        : `--workspace: ${file} is of the workspace ${header.workspace.path}`,
    );
  const shards = await connectShards(values);
  try {
    const { targetShard } = values;
    const warn = (text: string): void => void process.stderr.write(`warning: ${text}\n`);
    const onProgress = countProgress('objects', 5000, (text) => void process.stderr.write(text));
    const restored = await restoreWorkspace({ file, header, to, targetShard, onProgress, warn }, shards);
    const how = restored.isContinued ? ', continuing an earlier attempt' : '';
    process.stdout.write(
      `restored ${to} on the shard ${restored.shard}: ${restored.clusters} logical clusters, ${restored.objects} objects${how}\n`,
    );
    return 0;
  } finally {
    for (const { transport } of shards) transport.close();
  }
}

type Options = NonNullable<Parameters<typeof restoreSnapshot>[2]>;

async function intoEtcd(path: string, values: Parameters<typeof openEtcd>[0], options: Options): Promise<Restored> {
  const storage = await openEtcd(values);
  try {
    const restored = await restoreSnapshot(storage, snapshotBytes(path), options);
    const { revision } = restored.header;
    const current = await storage.currentRevision();
    if (current < revision)
      process.stderr.write(
        `warning: etcd is at revision ${current}, the snapshot is of ${revision}: clients that keep resource versions must be restarted\n`,
      );
    return restored;
  } finally {
    await storage.close();
  }
}

/** Restores beside the target and renames when everything is durable. */
async function intoDirectory(
  path: string,
  { directory, revision }: { readonly directory: string; readonly revision: number },
  options: Options,
): Promise<Restored> {
  await mkdir(dirname(directory), { recursive: true, mode: 0o700 });
  if (existsSync(directory)) {
    try {
      await rmdir(directory);
    } catch (error) {
      throw new OptionError(`${directory} has a store: move it away first`, { cause: error });
    }
  }
  const unfinished = `${directory}.restoring`;
  await removeUnfinishedStore(unfinished);
  await createFileStoreAt(unfinished, revision);
  try {
    const storage = await openFileStorage({ directory: unfinished });
    let restored: Restored;
    try {
      restored = await restoreSnapshot(storage, snapshotBytes(path), options);
    } finally {
      await storage.close();
    }
    await rename(unfinished, directory);
    return restored;
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

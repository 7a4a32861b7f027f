import { existsSync } from 'node:fs';
import { RestTransport } from '@multiplane/client';
import { OptionError, parseOptions, systemClock, type Command, type OptionTable } from '@multiplane/component-base';
import { saveSnapshot, type Storage } from '@multiplane/storage';
import type { Environment } from './server-command.ts';
import { countProgress, writeSnapshotFile } from './snapshot-file.ts';
import { describeStatus } from './snapshot-status.ts';
import { directStoreOptionTable, openEmbedded, openEtcd } from './snapshot-store.ts';
import { saveFromShards } from './workspace/save-workspace.ts';
import { checkWorkspacePath, connectShards, shardConfig, shardOptionTable } from './workspace/shard-connections.ts';

const table = {
  workspace: {
    type: 'text',
    description:
      'Path of a workspace, as in root:team-a: save it and all workspaces below it, from all shards, instead of a store.',
  },
  ...shardOptionTable,
  ...directStoreOptionTable,
} as const satisfies OptionTable;

/** `multiplane snapshot save FILE`. */
export const snapshotSaveCommand = (environment: Environment): Command => ({
  help: {
    usage: 'multiplane snapshot save FILE [flags]',
    description: [
      'Saves the store of a shard at one revision. By default a running shard is asked through its API; writes continue.',
      'With --root-directory the store of a stopped shard is read, with --etcd-servers etcd. Of a sharded control plane each',
      'shard has its own store: take one snapshot per shard, with --shard.',
      '',
      'With --workspace all shards are asked at about the same time. Each logical cluster is saved as of one moment; two of them',
      'may be moments apart. Secrets are in the file as plain text, also when the store encrypts them.',
      '',
      'Exit codes: 0 FILE is a whole, verified snapshot; 1 failed, FILE is not written.',
    ].join('\n'),
    sections: { Flags: table },
  },
  run: async (args) => {
    const { values, operands } = parseOptions(table, { args, environment });
    const [path, further] = operands;
    if (path === undefined || further !== undefined) throw new OptionError('one FILE is required');
    if (existsSync(path)) throw new OptionError(`${path} exists: name another file, or remove it first`);
    const source = await sourceOf(values);
    const onProgress = countProgress('MiB', 64 << 20, (text) => void process.stderr.write(text));
    try {
      const status = await writeSnapshotFile(path, source.chunks, onProgress);
      process.stdout.write(`saved ${path}\n${describeStatus(status)}`);
    } finally {
      await source.close();
    }
    return 0;
  },
});

interface Source {
  readonly chunks: AsyncIterable<Buffer>;
  readonly close: () => Promise<void>;
}

async function sourceOf(
  values: Parameters<typeof openEtcd>[0] & Parameters<typeof shardConfig>[0] & { workspace: string | undefined },
): Promise<Source> {
  if (values.workspace !== undefined) {
    const path = checkWorkspacePath('--workspace', values.workspace);
    if (values.rootDirectory !== undefined || values.etcdServers.length > 0)
      throw new OptionError('--workspace is saved from running shards: omit --root-directory and --etcd-servers');
    const shards = await connectShards(values);
    const close = async (): Promise<void> => shards.forEach(({ transport }) => transport.close());
    return { chunks: saveFromShards(path, shards), close };
  }
  if (values.rootDirectory !== undefined) return direct(await openEmbedded(values.rootDirectory), 'file');
  if (values.etcdServers.length > 0) return direct(await openEtcd(values), 'etcd');
  const transport = new RestTransport({ config: shardConfig(values) });
  // Throws the Status of a refusal.
  const chunks = await transport.open({ method: 'GET', path: '/snapshot', longRunning: true });
  return { chunks: chunks as AsyncIterable<Buffer>, close: async () => transport.close() };
}

function direct(storage: Storage, backend: string): Source {
  const createdAt = new Date(systemClock.now()).toISOString();
  return { chunks: saveSnapshot(storage, { backend, createdAt }), close: () => storage.close() };
}

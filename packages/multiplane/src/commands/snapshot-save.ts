import { existsSync } from 'node:fs';
import { RestTransport } from '@multiplane/client';
import { OptionError, parseOptions, systemClock, type Command, type OptionTable } from '@multiplane/component-base';
import { saveSnapshot, StoreInUseError, type Storage } from '@multiplane/storage';
import type { Environment } from './server-command.ts';
import { countProgress, writeSnapshotFile } from './snapshot-file.ts';
import { describeStatus } from './snapshot-status.ts';
import { directStoreOptionTable, openEmbedded, openEtcd } from './snapshot-store.ts';
import { saveFromShards } from './workspace/save-workspace.ts';
import {
  checkWorkspacePath,
  connectShards,
  runningKubeconfig,
  shardConfig,
  shardOptionTable,
} from './workspace/shard-connections.ts';

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
      'Saves the store of a shard at one revision to FILE, which must not exist. Of a sharded control plane each shard has its own',
      'store: take one snapshot per shard. Where the store is read from:',
      '',
      '  no flag, or --kubeconfig  the running shard, through its API; writes continue',
      '  --root-directory          the embedded store of a stopped shard. While a server uses it, that server is asked, through',
      '                            admin.kubeconfig in the root directory',
      '  --etcd-servers            etcd',
      '',
      '--kubeconfig comes before --root-directory, and that before --etcd-servers.',
      '',
      'With --workspace all shards are asked at about the same time. Each logical cluster is saved as of one moment; two of them',
      'may be moments apart. Secrets are in the file as plain text, also when the store encrypts them.',
      '',
      'Exit codes: 0 FILE is a whole, verified snapshot; 1 failed, FILE is not written.',
    ].join('\n'),
    sections: { Flags: table },
  },
  run: async (args) => {
    const { values, operands, given } = parseOptions(table, { args, environment });
    const [path, further] = operands;
    if (path === undefined || further !== undefined) throw new OptionError('one FILE is required');
    if (existsSync(path)) throw new OptionError(`${path} exists: name another file, or remove it first`);
    const source = await sourceOf(
      { ...values, kubeconfig: runningKubeconfig({ values, given }) },
      given.has('kubeconfig'),
    );
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

type Values = Parameters<typeof openEtcd>[0] & Parameters<typeof shardConfig>[0] & { workspace: string | undefined };

/** `kubeconfigIsGiven`: the running server is meant, also when the environment names a root directory. */
async function sourceOf(values: Values, kubeconfigIsGiven: boolean): Promise<Source> {
  const { workspace, rootDirectory, etcdServers } = values;
  if (workspace !== undefined) {
    const path = checkWorkspacePath('--workspace', workspace);
    if (etcdServers.length > 0) throw new OptionError('--workspace is saved from running shards: omit --etcd-servers');
    const shards = await connectShards(values);
    const close = async (): Promise<void> => shards.forEach(({ transport }) => transport.close());
    return { chunks: saveFromShards(path, shards), close };
  }
  if (rootDirectory !== undefined && !kubeconfigIsGiven) return ofRootDirectory(rootDirectory, values);
  if (etcdServers.length > 0) return direct(await openEtcd(values), 'etcd');
  return ofRunning(values);
}

/** The store in a root directory, or the running server that uses it. */
async function ofRootDirectory(rootDirectory: string, values: Values): Promise<Source> {
  try {
    return direct(await openEmbedded(rootDirectory), 'file');
  } catch (error) {
    if (!(error instanceof StoreInUseError)) throw error;
    if (!existsSync(values.kubeconfig))
      throw new OptionError(
        `a running server uses the store in ${rootDirectory}, and there is no ${values.kubeconfig} to ask it with: name its kubeconfig with --kubeconfig, or stop the server`,
        { cause: error },
      );
  }
  process.stderr.write(
    `a running server uses the store in ${rootDirectory}: asking it, as ${values.kubeconfig} says\n`,
  );
  return ofRunning(values);
}

async function ofRunning(values: Values): Promise<Source> {
  const transport = new RestTransport({ config: shardConfig(values) });
  // Throws the Status of a refusal.
  const chunks = await transport.open({ method: 'GET', path: '/snapshot', longRunning: true });
  return { chunks: chunks as AsyncIterable<Buffer>, close: async () => transport.close() };
}

function direct(storage: Storage, backend: string): Source {
  const createdAt = new Date(systemClock.now()).toISOString();
  return { chunks: saveSnapshot(storage, { backend, createdAt }), close: () => storage.close() };
}

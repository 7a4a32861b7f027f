import { existsSync } from 'node:fs';
import { clientConfigOf, readKubeconfig, RestTransport } from '@multiplane/client';
import { OptionError, parseOptions, systemClock, type Command, type OptionTable } from '@multiplane/component-base';
import { saveSnapshot, type Storage } from '@multiplane/storage';
import type { Environment } from './server-command.ts';
import { countProgress, writeSnapshotFile } from './snapshot-file.ts';
import { describeStatus } from './snapshot-status.ts';
import { directStoreOptionTable, openEmbedded, openEtcd } from './snapshot-store.ts';

const table = {
  kubeconfig: {
    type: 'text',
    default: '.multiplane/admin.kubeconfig',
    description: 'Kubeconfig of a running shard; its user must be in the group system:masters.',
  },
  context: {
    type: 'text',
    default: 'shard-base',
    description: 'Context of the kubeconfig that leads to the shard itself, not to a front-proxy.',
  },
  ...directStoreOptionTable,
} as const satisfies OptionTable;

/** `multiplane snapshot save FILE`. */
export const snapshotSaveCommand = (environment: Environment): Command => ({
  help: {
    usage: 'multiplane snapshot save FILE [flags]',
    description: [
      'Saves the store of a shard at one revision. By default a running shard is asked through its API; writes continue.',
      'With --root-directory the store of a stopped shard is read, with --etcd-servers etcd.',
      '',
      'Exit codes: 0 FILE is a whole, verified snapshot; 1 failed, FILE is not written.',
    ].join('\n'),
    sections: { Flags: table },
  },
  run: async (args) => {
    const { values, operands } = parseOptions(table, { args, environment });
    const [path, further] = operands;
    if (path === undefined || further !== undefined) throw new OptionError('one FILE is required');
    if (existsSync(path)) throw new OptionError(`${path} exists`);
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
  values: Parameters<typeof openEtcd>[0] & { kubeconfig: string; context: string },
): Promise<Source> {
  if (values.rootDirectory !== undefined) return direct(await openEmbedded(values.rootDirectory), 'file');
  if (values.etcdServers.length > 0) return direct(await openEtcd(values), 'etcd');
  const { kubeconfig, context } = values;
  if (!existsSync(kubeconfig))
    throw new OptionError(
      `--kubeconfig: ${kubeconfig} does not exist; name it, or use --root-directory or --etcd-servers`,
    );
  const transport = new RestTransport({ config: clientConfigOf(readKubeconfig(kubeconfig), kubeconfig, context) });
  // Throws the Status of a refusal.
  const chunks = await transport.open({ method: 'GET', path: '/snapshot', longRunning: true });
  return { chunks: chunks as AsyncIterable<Buffer>, close: async () => transport.close() };
}

function direct(storage: Storage, backend: string): Source {
  const createdAt = new Date(systemClock.now()).toISOString();
  return { chunks: saveSnapshot(storage, { backend, createdAt }), close: () => storage.close() };
}

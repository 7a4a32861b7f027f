import { OptionError, parseOptions, type Command, type OptionTable } from '@multiplane/component-base';
import type { Environment } from './server-command.ts';
import { assertSnapshotExists, type SnapshotStatus, snapshotStatus } from './snapshot-file.ts';
import { megabytes } from './store-options.ts';

const table = {
  workspace: { type: 'text', description: 'Fail unless the snapshot is of this workspace.' },
  resources: { type: 'boolean', default: false, description: 'List the number of objects of each resource.' },
} as const satisfies OptionTable;

/** `multiplane snapshot status FILE`. */
export const snapshotStatusCommand = (environment: Environment): Command => ({
  help: {
    usage: 'multiplane snapshot status FILE [flags]',
    description: [
      'Reads a whole snapshot, verifies its checksum, and says what it contains.',
      '',
      'Exit codes: 0 the snapshot is whole; 1 it is not, or cannot be read.',
    ].join('\n'),
    sections: { Flags: table },
  },
  run: async (args) => {
    const { values, operands } = parseOptions(table, { args, environment });
    const [path, further] = operands;
    if (path === undefined || further !== undefined) throw new OptionError('one FILE is required');
    assertSnapshotExists(path);
    const status = await snapshotStatus(path);
    const { workspace } = status.header;
    if (values.workspace !== undefined && values.workspace !== workspace?.path)
      throw new OptionError(
        `${path} is of ${workspace === undefined ? 'a whole store' : `the workspace ${workspace.path}`}, not of ${values.workspace}`,
      );
    process.stdout.write(describeStatus(status));
    if (values.resources)
      for (const [name, count] of [...status.resources].sort(([a], [b]) => (a < b ? -1 : 1)))
        process.stdout.write(`${String(count).padStart(9)}  ${name}\n`);
    return 0;
  },
});

export function describeStatus({ header, records, bytes, logicalClusters }: SnapshotStatus): string {
  const { shard, backend, revision, createdAt, workspace } = header;
  const parts = workspace?.parts?.map((part) => `${part.shard} at ${part.revision}`).join(', ');
  const store = shard === undefined ? 'a store' : `shard ${shard}`;
  const of = workspace === undefined ? store : `workspace ${workspace.path} (${parts ?? ''})`;
  return `${of}, ${backend}, revision ${revision}, ${createdAt}\n${records} objects, ${megabytes(bytes)}, ${logicalClusters} logical clusters; checksum correct\n`;
}

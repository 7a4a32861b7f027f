import { existsSync } from 'node:fs';
import { OptionError, parseOptions, type Command } from '@multiplane/component-base';
import { openFileStorage } from '@multiplane/storage';
import type { Environment } from './server-command.ts';
import { megabytes, recoveryProgress, storeDirectory, storeOptionTable } from './store-options.ts';

/** `multiplane store defragment`. */
export const storeDefragmentCommand = (environment: Environment): Command => ({
  help: {
    description: [
      'Drops the history of an embedded store and rewrites its live records, so that unused disk space is given back. A running',
      'shard does so by itself when half of the disk space is unused. Needs free disk space for a copy of the live records.',
      'Clients that watch start again from a new list.',
      '',
      'Exit codes: 0 done; 1 failed, nothing is lost.',
    ].join('\n'),
    sections: { Flags: storeOptionTable },
  },
  run: async (args) => {
    const { values, operands } = parseOptions(storeOptionTable, { args, environment });
    if (operands[0] !== undefined) throw new OptionError(`unexpected argument ${JSON.stringify(operands[0])}`);
    const directory = storeDirectory(values);
    if (!existsSync(directory)) throw new OptionError(`--root-directory: ${directory} does not exist`);
    const onProgress = recoveryProgress((text) => void process.stderr.write(text));
    const store = await openFileStorage({ directory, onProgress, minIndexSnapshotBytes: Infinity });
    const { before, after } = await store.defragment();
    await store.close();
    process.stdout.write(`${megabytes(before)} before, ${megabytes(after)} after\n`);
    return 0;
  },
});

import { OptionError, parseOptions, type Command, type OptionTable } from '@multiplane/component-base';
import { checkFileStore, openFileStorage } from '@multiplane/storage';
import type { Environment } from './server-command.ts';
import { describeCheck, megabytes, recoveryProgress, storeDirectory, storeOptionTable } from './store-options.ts';

const table = {
  ...storeOptionTable,
  'accept-data-loss': {
    type: 'boolean',
    default: false,
    description: 'Give up acknowledged data that is missing, and damaged records whose keys are unknown.',
  },
} as const satisfies OptionTable;

/** `multiplane store repair`: 0 sound now, 1 failed, 2 not repaired because data would be given up. */
export const storeRepairCommand = (environment: Environment): Command => ({
  help: {
    description: [
      'Rewrites the intact records of an embedded store. Damaged records are kept in the folder quarantine, with their keys.',
      'What is missing, or may be an older version, is only given up with --accept-data-loss. Make a copy of the directory first.',
      '',
      'Exit codes: 0 the store is sound now; 1 failed; 2 not changed, because data would be given up.',
    ].join('\n'),
    sections: { Flags: table },
  },
  run: async (args) => {
    const { values, operands } = parseOptions(table, { args, environment });
    if (operands[0] !== undefined) throw new OptionError(`unexpected argument ${JSON.stringify(operands[0])}`);
    const directory = storeDirectory(values);
    const onProgress = recoveryProgress((text) => void process.stderr.write(text));
    const check = await checkFileStore(directory, { onProgress });
    for (const line of describeCheck(check)) process.stdout.write(`${line}\n`);
    if (check.losses.length > 0 && !values.acceptDataLoss) {
      process.stdout.write('not repaired: add --accept-data-loss to give up what is lost\n');
      return 2;
    }
    if (check.losses.length === 0 && check.damaged.length === 0 && !check.unfinishedWrite) {
      process.stdout.write('sound: nothing to repair\n');
      return 0;
    }
    const { acceptDataLoss } = values;
    // Without the key index snapshot every record is verified.
    const store = await openFileStorage({ directory, acceptDataLoss, minIndexSnapshotBytes: Infinity });
    const { after } = await store.defragment();
    await store.close();
    process.stdout.write(`repaired: ${megabytes(after)}\n`);
    return 0;
  },
});

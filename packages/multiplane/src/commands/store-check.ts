import { OptionError, parseOptions, type Command } from '@multiplane/component-base';
import { checkFileStore } from '@multiplane/storage';
import type { Environment } from './server-command.ts';
import { describeCheck, recoveryProgress, storeDirectory, storeOptionTable } from './store-options.ts';

/** `multiplane store check`: 0 sound, 1 not checked, 2 damaged. */
export const storeCheckCommand = (environment: Environment): Command => ({
  help: {
    description: [
      'Reads and verifies every record of an embedded store, and that it reaches the end that was acknowledged. Names the keys',
      'of damaged records. Changes nothing.',
      '',
      'Exit codes: 0 the store is sound; 1 it could not be checked; 2 it is damaged.',
    ].join('\n'),
    sections: { Flags: storeOptionTable },
  },
  run: async (args) => {
    const { values, operands } = parseOptions(storeOptionTable, { args, environment });
    if (operands[0] !== undefined) throw new OptionError(`unexpected argument ${JSON.stringify(operands[0])}`);
    const onProgress = recoveryProgress((text) => void process.stderr.write(text));
    const check = await checkFileStore(storeDirectory(values), { onProgress });
    for (const line of describeCheck(check)) process.stdout.write(`${line}\n`);
    const isSound = check.damaged.length === 0 && check.losses.length === 0;
    process.stdout.write(
      isSound
        ? 'sound\n'
        : check.losses.length === 0
          ? 'damaged: the shard starts without the damaged records; "multiplane store repair" removes them\n'
          : 'damaged: the shard does not start; restore a backup, or give up what is lost with "multiplane store repair --accept-data-loss"\n',
    );
    return isSound ? 0 : 2;
  },
});

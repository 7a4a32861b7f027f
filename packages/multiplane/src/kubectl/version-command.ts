import { Command } from 'commander';
import { showVersion } from '../kubectl-kcp/show-version.ts';
import { addCommonFlags, withServer } from './options.ts';

/** `kubectl kcp version`. */
export function versionCommand(): Command {
  const command = addCommonFlags(new Command('version'))
    .description('print the versions of this plugin and of the server')
    .option('--client', 'print only the version of this plugin');
  return command.action(async ({ client }: { readonly client?: boolean }) => {
    const out = (line: string): void => void process.stdout.write(`${line}\n`);
    if (client === true) return showVersion(undefined, out);
    await withServer(command, (modules) => showVersion(modules.client, out));
  });
}

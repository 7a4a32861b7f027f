import { Command } from 'commander';
import { createProject } from 'create-multiplane-provider';

/** `kubectl kcp init provider`: the project of `npm create multiplane-provider`. */
export function initProviderCommand(): Command {
  return new Command('provider')
    .description('write a project with an API, its export, a controller and a test')
    .argument('<folder>', 'folder of the project; created, or empty')
    .option('--kind <kind>', 'kind of the API', 'Cowboy')
    .option('--group <group>', 'group of the API', 'example.dev')
    .action(async (folder: string, flags: { readonly kind: string; readonly group: string }) => {
      const files = await createProject({ folder, ...flags });
      for (const file of files) process.stdout.write(`${folder}/${file}\n`);
      process.stdout.write(`\nNext: cd ${folder} && npm install && npm test\n`);
    });
}

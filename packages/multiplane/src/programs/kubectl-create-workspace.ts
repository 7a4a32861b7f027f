import { createCommand } from '../kubectl/create-command.ts';
import { runPlugin } from '../kubectl/run-plugin.ts';
import { version } from '../version.ts';

await runPlugin(createCommand('kubectl-create-workspace').version(version), process.argv.slice(2), {
  prefix: 'Error',
  environment: process.env,
});

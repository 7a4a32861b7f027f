import { runPlugin } from '../kubectl/run-plugin.ts';
import { workspaceCommand } from '../kubectl/workspace-command.ts';
import { version } from '../version.ts';

await runPlugin(workspaceCommand('kubectl-ws').version(version), process.argv.slice(2), {
  prefix: 'Error',
  environment: process.env,
});

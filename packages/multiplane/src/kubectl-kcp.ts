import { Command } from 'commander';
import { crdSnapshotCommand } from './kubectl/crd-snapshot-command.ts';
import { runPlugin } from './kubectl/run-plugin.ts';
import { workspaceCommand } from './kubectl/workspace-command.ts';
import { version } from './version.ts';

const workspace = workspaceCommand('workspace').aliases(['ws', 'workspaces']);
const program = new Command('kubectl-kcp')
  .description('Workspaces, and APIs between them.')
  .version(version)
  .addCommand(workspace)
  .addCommand(new Command('crd').description('definitions').addCommand(crdSnapshotCommand()));

const argv = process.argv.slice(2);
const isWorkspace = [workspace.name(), ...workspace.aliases()].includes(argv[0] ?? '');
await runPlugin(program, argv, isWorkspace ? 'Error' : 'error');

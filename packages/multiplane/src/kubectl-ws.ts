import { enableCompileCache } from 'node:module';

// Before anything else is loaded: compiled code is kept between starts.
enableCompileCache();
const [{ runPlugin }, { workspaceCommand }, { version }] = await Promise.all([
  import('./kubectl/run-plugin.ts'),
  import('./kubectl/workspace-command.ts'),
  import('./version.ts'),
]);

await runPlugin(workspaceCommand('kubectl-ws').version(version), process.argv.slice(2), 'Error');

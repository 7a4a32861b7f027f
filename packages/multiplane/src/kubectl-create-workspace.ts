import { enableCompileCache } from 'node:module';

// Before anything else is loaded: compiled code is kept between starts.
enableCompileCache();
const [{ createCommand }, { runPlugin }, { version }] = await Promise.all([
  import('./kubectl/create-command.ts'),
  import('./kubectl/run-plugin.ts'),
  import('./version.ts'),
]);

await runPlugin(createCommand('kubectl-create-workspace').version(version), process.argv.slice(2), 'Error');

import { enableCompileCache } from 'node:module';

// Before anything else is loaded: compiled code is kept between starts.
enableCompileCache();
const [{ kcpCommand, errorPrefixOf }, { runPlugin }] = await Promise.all([
  import('./kubectl/kcp-command.ts'),
  import('./kubectl/run-plugin.ts'),
]);

const argv = process.argv.slice(2);
await runPlugin(kcpCommand(), argv, errorPrefixOf(argv));

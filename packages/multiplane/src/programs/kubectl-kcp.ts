import { errorPrefixOf, kcpCommand } from '../kubectl/kcp-command.ts';
import { runPlugin } from '../kubectl/run-plugin.ts';

const argv = process.argv.slice(2);
await runPlugin(kcpCommand(), argv, { prefix: errorPrefixOf(argv), environment: process.env });

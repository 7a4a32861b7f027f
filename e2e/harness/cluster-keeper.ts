/**
 * Runs a control plane for suites that follow one another: `cluster-keeper.ts <KeeperOptions as JSON>`. Prints a KeptRecord
 * as a line of JSON once it serves, and ends when its standard input does, or by SIGTERM.
 */
import { once } from 'node:events';
import type { KeeperOptions, KeptRecord } from './kept-cluster.ts';
import { LocalCluster } from './local-cluster.ts';
import { ShardedCluster } from './sharded-cluster.ts';

const ended = Promise.race([once(process.stdin.resume(), 'close'), once(process, 'SIGTERM')]);
const { isSharded, options } = JSON.parse(process.argv[2] ?? '{}') as KeeperOptions;
const cluster = isSharded ? await ShardedCluster.start(options) : await LocalCluster.start(options);
const record: KeptRecord = cluster instanceof LocalCluster ? { local: cluster.record } : { sharded: cluster.record };
process.stdout.write(`${JSON.stringify(record)}\n`);
await ended;
await cluster[Symbol.asyncDispose]();
// Standard input is still open after SIGTERM.
process.exit();

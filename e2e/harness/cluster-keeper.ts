/**
 * Runs a sharded control plane for suites that follow one another: `cluster-keeper.ts <options as JSON>`. Prints what
 * {@link ShardedCluster.record} says as a line of JSON once it serves, and ends when its standard input does, or by SIGTERM.
 */
import { once } from 'node:events';
import { ShardedCluster, type ShardedClusterOptions } from './sharded-cluster.ts';

const ended = Promise.race([once(process.stdin.resume(), 'close'), once(process, 'SIGTERM')]);
const cluster = await ShardedCluster.start(JSON.parse(process.argv[2] ?? '{}') as ShardedClusterOptions);
process.stdout.write(`${JSON.stringify(cluster.record)}\n`);
await ended;
await cluster[Symbol.asyncDispose]();

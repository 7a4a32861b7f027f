/** SERVER: one API-server shard. Read `server.ts` first: it is the wiring list. */
export { completeShardOptions, shardOptionSections, shardOptionTable, type ShardOptions } from './options.ts';
export { runShard, type ShardModules } from './server.ts';

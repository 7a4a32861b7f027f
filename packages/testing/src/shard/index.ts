/** In-process shards. A separate entry point, because it loads the whole server. */
export { InProcessShard } from './in-process-shard.ts';
export * from './api-sharing-shard.ts';

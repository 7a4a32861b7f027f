/** A shard inside the test's process; apart from the rest, because it loads all of the server. */
export { InProcessShard } from './in-process-shard.ts';
export * from './sharing-shard.ts';

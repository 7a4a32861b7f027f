/** SERVER: one API-server shard. Read `server.ts` first: it is the wiring list. */
export { completeShardOptions, shardOptionSections, shardOptionTable, type ShardOptions } from './options.ts';
export { shardUrls } from './sharding/shard-urls.ts';
export { runShard, type ShardModules } from './server.ts';
/** What a shard publishes; a cache server must serve all of it. */
export { replicatedKinds } from '@multiplane/controllers';
export { builtInKeyPrefixes, contentPrefixOf } from './content-prefix.ts';
/** Measured by itself. */
export { ClaimReferences, sourceOf, type ReferenceSource } from './api-sharing/claim-references.ts';

export {
  type CacheServerOptions,
  type CacheServerOptionValues,
  cacheServerOptionSections,
  cacheServerOptionTable,
  completeCacheServerOptions,
} from './options.ts';
export { type CacheServerModules, runCacheServer } from './server.ts';
export { type EmbeddedCacheServer, type EmbeddedCacheServerOptions, embedCacheServer } from './embed.ts';
export type { CachedKind, CacheScope, CachedKindSource } from './cached-kinds.ts';

export { cacheServerOptionSections, cacheServerOptionTable, completeCacheServerOptions } from './options.ts';
export { runCacheServer } from './server.ts';
export { embedCacheServer } from './embed.ts';

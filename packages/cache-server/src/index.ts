export {
  type CacheServerOptions,
  type CacheServerOptionValues,
  cacheServerOptionSections,
  cacheServerOptionTable,
  completeCacheServerOptions,
} from './options.ts';

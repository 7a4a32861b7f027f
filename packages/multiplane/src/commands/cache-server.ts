import type { Command } from '@multiplane/component-base';
import {
  completeCacheServerOptions,
  cacheServerOptionSections,
  cacheServerOptionTable,
  runCacheServer,
} from '@multiplane/cache-server';
import { serverCommand, type Environment } from './server-command.ts';

/** `multiplane cache-server`: serves the replicated objects of all shards. */
export const cacheServerCommand = (environment: Environment): Command =>
  serverCommand(
    {
      sections: cacheServerOptionSections,
      table: cacheServerOptionTable,
      complete: completeCacheServerOptions,
      run: runCacheServer,
    },
    environment,
  );

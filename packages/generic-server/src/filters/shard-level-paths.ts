import type { Filter } from '../request-context.ts';
import { writeText } from '../responses.ts';

/** Paths of the server as a whole, never of a workspace. */
export const isShardLevelPath = (path: string): boolean => path === '/metrics';

/** Metrics are the server's, not a tenant's: below `/clusters/<x>` they answer 501 to everybody (C1.4, kcp#4165). */
export const withShardLevelPaths: Filter = (next) => (context) => {
  if (context.info.cluster === undefined || !isShardLevelPath(context.info.path)) return next(context);
  writeText(context.exchange, 501, 'shard-level endpoint not available at workspace scope\n');
  return Promise.resolve();
};

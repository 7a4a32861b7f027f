import type { Filter } from '../request/request-context.ts';
import { writeText } from '../response/responses.ts';

/** Paths of the server that do not exist in workspaces. */
export const isShardLevelPath = (path: string): boolean => path === '/metrics';

/** Responds with 501 to `/clusters/<x>/metrics`: metrics belong to the server, not to a tenant (kcp#4165). */
export const withShardLevelPaths: Filter = (next) => (context) => {
  if (context.info.cluster === undefined || !isShardLevelPath(context.info.path)) return next(context);
  writeText(context.exchange, 501, 'shard-level endpoint not available at workspace scope\n');
  return Promise.resolve();
};

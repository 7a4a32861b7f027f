import type { Filter } from '../request/request-context.ts';
import { writeText } from '../response/responses.ts';

/** Paths of the server that do not exist in workspaces. */
export const isShardLevelPath = (path: string): boolean => path === '/metrics' || path === '/metrics/slis';

/**
 * Responds with 501 to `/clusters/<x>/metrics`: metrics belong to the server, not to a tenant (kcp#4165). `/clusters/*` names no
 * logical cluster, so these paths are served below it, with the authorization of the bare path.
 */
export const withShardLevelPaths: Filter = (next) => (context) => {
  const { cluster, path } = context.info;
  if (cluster === undefined || cluster === '*' || !isShardLevelPath(path)) return next(context);
  writeText(context.exchange, 501, 'shard-level endpoint not available at workspace scope\n');
  return Promise.resolve();
};

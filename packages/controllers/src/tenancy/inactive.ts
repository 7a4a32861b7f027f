import type { DeepReadonly } from '@multiplane/apimachinery';
import type { LogicalCluster } from './kinds.ts';

const annotations = ['core.kcp.io/inactive', 'internal.kcp.io/inactive'];

/** Whether a logical cluster is annotated as inactive: requests to it are refused, except for the LogicalCluster. */
export const isMarkedInactive = ({ metadata }: DeepReadonly<LogicalCluster>): boolean =>
  annotations.some((name) => metadata.annotations?.[name] === 'true');

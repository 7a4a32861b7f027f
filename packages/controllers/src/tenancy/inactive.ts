import type { DeepReadonly } from '@multiplane/apimachinery';
import type { LogicalCluster } from './kinds.ts';

const annotations = ['core.kcp.io/inactive', 'internal.kcp.io/inactive'];

/** True for a logical cluster that was taken out of service: nothing but its own object can be reached (C1.5, C5.8). */
export const isMarkedInactive = ({ metadata }: DeepReadonly<LogicalCluster>): boolean =>
  annotations.some((name) => metadata.annotations?.[name] === 'true');

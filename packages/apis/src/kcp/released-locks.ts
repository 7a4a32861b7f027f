import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import { resourceBindingsAnnotation } from './api-sharing.ts';
import { locksOf } from './resource-locks.ts';

/** Names whose lock has changed its holder or is gone between two versions of a LogicalCluster: only these can have become free. */
export function releasedLocks(before: DeepReadonly<KubeObject>, after: DeepReadonly<KubeObject>): string[] {
  if (textOf(before) === textOf(after)) return [];
  const [old, now] = [locksOf(before), locksOf(after)];
  return Array.from(old)
    .filter(([name, { n, c }]) => now.get(name)?.n !== n || now.get(name)?.c !== c)
    .map(([name]) => name);
}

const textOf = ({ metadata }: DeepReadonly<KubeObject>): string | undefined =>
  metadata.annotations?.[resourceBindingsAnnotation];

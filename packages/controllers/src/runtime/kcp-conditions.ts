import { deepEqual, formatTime, type DeepReadonly } from '@multiplane/apimachinery';
import type { KcpCondition } from '@multiplane/apis';

export type { KcpCondition } from '@multiplane/apis';

/**
 * The list with one condition set: `Ready` first, the others by type; the time moves with any other field (C2.0).
 */
export function setKcpCondition(
  conditions: readonly DeepReadonly<KcpCondition>[] | undefined,
  condition: Omit<KcpCondition, 'lastTransitionTime'>,
  now: Date,
): KcpCondition[] {
  const list = (conditions ?? []).map((entry) => ({ ...entry }));
  const old = list.find(({ type }) => type === condition.type);
  if (old !== undefined) {
    const { lastTransitionTime: _then, ...before } = old;
    const { lastTransitionTime: _now, ...after } = condition as KcpCondition;
    if (deepEqual(before, after)) return list;
  }
  const rank = ({ type }: KcpCondition): string => (type === 'Ready' ? '' : type);
  return [
    ...list.filter(({ type }) => type !== condition.type),
    { ...condition, lastTransitionTime: formatTime(now) },
  ].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

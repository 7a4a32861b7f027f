import { deepEqual, formatTime, type DeepReadonly } from '@multiplane/apimachinery';
import type { KcpCondition } from '@multiplane/apis';

export type { KcpCondition } from '@multiplane/apis';

/** A condition as a controller sets it; {@link setKcpCondition} adds the transition time. */
export type NewKcpCondition = Omit<KcpCondition, 'lastTransitionTime'>;

/**
 * Returns the list with one condition set: `Ready` first, the others sorted by type. `lastTransitionTime` changes when
 * any other field does (kcp: third_party/conditions/util/conditions/setter.go).
 */
export function setKcpCondition(
  conditions: readonly DeepReadonly<KcpCondition>[] | undefined,
  condition: NewKcpCondition,
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

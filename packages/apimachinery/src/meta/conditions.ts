import { formatTime } from '../values/time.ts';

/** metav1.Condition. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  observedGeneration?: number;
  lastTransitionTime: string;
  reason: string;
  message: string;
}
/** A condition about to be set: the time comes from the change of status. */
export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

/** The condition of a type. */
export function findCondition<C extends { readonly type: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** True when the condition exists and is True. */
export function isConditionTrue(
  conditions: readonly { readonly type: string; readonly status: string }[] | undefined,
  type: string,
): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/**
 * The conditions with one set; the very same list when nothing changes, so that a reconciler sees by identity
 * whether there is anything to write. `lastTransitionTime` moves only when the status does.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  condition: NewCondition,
  now: Date,
): readonly Condition[] {
  const list = conditions ?? [];
  const index = list.findIndex(({ type }) => type === condition.type);
  const old = list[index];
  if (old === undefined) return [...list, complete(condition, formatTime(now))];
  if (
    old.status === condition.status &&
    old.reason === condition.reason &&
    old.message === condition.message &&
    old.observedGeneration === condition.observedGeneration
  ) {
    return list;
  }
  return list.with(
    index,
    complete(condition, old.status === condition.status ? old.lastTransitionTime : formatTime(now)),
  );
}

function complete(
  { type, status, observedGeneration, reason, message }: NewCondition,
  lastTransitionTime: string,
): Condition {
  return {
    type,
    status,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    lastTransitionTime,
    reason,
    message,
  };
}

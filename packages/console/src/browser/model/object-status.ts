import type { Condition, KubeObject } from '../data/kube-object.ts';

export interface ObjectState {
  readonly phase: string | undefined;
  readonly conditions: readonly Condition[];
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** What the status of any object says by custom; tenants may have put anything there. */
export function stateOf({ status }: Pick<KubeObject, 'status'>): ObjectState {
  if (!isObject(status)) return { phase: undefined, conditions: [] };
  const { phase, conditions } = status;
  const list: readonly unknown[] = Array.isArray(conditions) ? conditions : [];
  return {
    phase: text(phase),
    conditions: list.filter(isObject).flatMap((condition) => {
      const type = text(condition['type']);
      if (type === undefined) return [];
      return [
        {
          type,
          status: text(condition['status']) ?? 'Unknown',
          reason: text(condition['reason']) ?? '',
          message: text(condition['message']) ?? '',
          ...timeOf(condition['lastTransitionTime']),
        },
      ];
    }),
  };
}

const timeOf = (value: unknown): Pick<Condition, 'lastTransitionTime'> =>
  typeof value === 'string' ? { lastTransitionTime: value } : {};

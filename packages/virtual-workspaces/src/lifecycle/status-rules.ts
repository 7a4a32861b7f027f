import {
  deepEqual,
  fieldErrors,
  statusErrors,
  type FieldError,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import type { UpdateRule } from '@multiplane/virtual-framework';
import { asLogicalCluster, type Lifecycle } from './lifecycle.ts';

/**
 * Limits status updates of a LogicalCluster: a controller may remove itself from its list, and set conditions. Every
 * other field is reserved for the system: an initializer that sets the phase Ready would skip the other initializers,
 * and one that sets the URL would redirect users (kcp v0.32 allows both, docs/compatibility.md).
 */
export function statusRule(lifecycle: Lifecycle, id: string): UpdateRule {
  const { list, errorGroup } = lifecycle;
  return ({ old, updated }) => {
    const before = asLogicalCluster(old);
    const after = asLogicalCluster(updated);
    const errors: FieldError[] = [];
    const had = before.status?.[list] ?? [];
    const has = after.status?.[list] ?? [];
    if (!deepEqual(had, has) && !deepEqual(without(had, id), has)) errors.push(notOnlyItself(lifecycle, id, has));
    const was = (before.status ?? {}) as JsonObject;
    const is = (after.status ?? {}) as JsonObject;
    for (const field of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const value: Json = is[field] ?? null;
      if (field === list || field === 'conditions' || deepEqual(was[field] ?? null, value)) continue;
      errors.push(fieldErrors.invalid(`status.${field}`, value, 'only the system may change it'));
    }
    if (errors.length === 0) return;
    throw statusErrors.invalid({ group: errorGroup, kind: 'LogicalCluster' }, after.metadata.name ?? '', errors);
  };
}

/**
 * What kcp's virtual workspaces refuse before the shard sees the object, so before its schema is checked: another list of
 * terminators; and another number of initializers, but not other ones (`withUpdateValidation` of either virtual workspace).
 */
export function earlyStatusRule(lifecycle: Lifecycle, id: string): UpdateRule {
  const { list, noun, errorGroup } = lifecycle;
  return ({ old, updated }) => {
    const had = asLogicalCluster(old).status?.[list] ?? [];
    const has: unknown = asLogicalCluster(updated).status?.[list] ?? [];
    if (!isStrings(has) || deepEqual(had, has) || deepEqual(without(had, id), has)) return;
    if (noun === 'initializer' && had.length === has.length) return;
    const name = asLogicalCluster(old).metadata.name ?? '';
    throw statusErrors.invalid({ group: errorGroup, kind: 'LogicalCluster' }, name, [
      notOnlyItself(lifecycle, id, has),
    ]);
  };
}

const notOnlyItself = ({ list, noun }: Lifecycle, id: string, has: readonly string[]): FieldError =>
  fieldErrors.invalid(`status.${list}`, has, `only removing the "${id}" ${noun} is supported`);

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string');

const without = (list: readonly string[], id: string): string[] => list.filter((entry) => entry !== id);

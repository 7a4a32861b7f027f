import { type DeepReadonly, type Json, type JsonObject, deepEqual, setOwn } from './json.ts';

/**
 * What `json.ts` does with values, in passes: each generator yields after some thousand members and containers, however deep or wide the
 * value is: a list may have 500,000 empty objects.
 * Only reading the keys of one object is a step of its own length. Nothing may change the values meanwhile.
 */

/** Members per pass: a few milliseconds in objects so wide that V8 keeps them in hash tables. */
const membersPerPass = 4_096;

type Container = Json[] | JsonObject;

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

/** {@link deepCopy} in passes. */
export function* deepCopyIncrementally<T extends Json>(value: DeepReadonly<T>): Generator<void, T> {
  if (!isContainer(value)) return value as T;
  const emptyLike = (source: Container): Container => (Array.isArray(source) ? [] : {});
  const copy = emptyLike(value);
  const pending: [source: Container, copy: Container][] = [[value, copy]];
  let members = 0;
  const copied = (member: Json): Json => {
    if (!isContainer(member)) return member;
    const empty = emptyLike(member);
    pending.push([member, empty]);
    return empty;
  };
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (++members % membersPerPass === 0) yield;
    const [source, target] = next;
    if (Array.isArray(source)) {
      for (const item of source) {
        (target as Json[]).push(copied(item));
        if (++members % membersPerPass === 0) yield;
      }
      continue;
    }
    for (const key of Object.keys(source)) {
      setOwn(target as JsonObject, key, copied(source[key] as Json));
      if (++members % membersPerPass === 0) yield;
    }
  }
  return copy as T;
}

/** {@link deepFreeze} in passes. */
export function* deepFreezeIncrementally<T>(value: T): Generator<void, DeepReadonly<T>> {
  const pending: unknown[] = [value];
  let members = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (++members % membersPerPass === 0) yield;
    if (!isContainer(next) || Object.isFrozen(next)) continue;
    Object.freeze(next);
    if (Array.isArray(next)) {
      // The keys of an array would be made as texts.
      for (const member of next as unknown[]) {
        if (isContainer(member)) pending.push(member);
        if (++members % membersPerPass === 0) yield;
      }
      continue;
    }
    // `Object.values` of a wide object takes several times as long.
    for (const key of Object.keys(next)) {
      const member = next[key];
      if (isContainer(member)) pending.push(member);
      if (++members % membersPerPass === 0) yield;
    }
  }
  return value as DeepReadonly<T>;
}

/** {@link deepEqual} in passes. */
export function* deepEqualIncrementally(a: DeepReadonly<Json>, b: DeepReadonly<Json>): Generator<void, boolean> {
  const pending: [Json, Json][] = [[a as Json, b as Json]];
  let members = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (++members % membersPerPass === 0) yield;
    const [left, right] = next;
    if (left === right) continue;
    if (!isContainer(left) || !isContainer(right)) {
      if (!deepEqual(left, right)) return false;
      continue;
    }
    if (Array.isArray(left) || Array.isArray(right)) {
      if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
      for (const [index, mine] of left.entries()) {
        if (mine !== right[index]) pending.push([mine, right[index] as Json]);
        if (++members % membersPerPass === 0) yield;
      }
      continue;
    }
    const keys = Object.keys(left);
    // Two objects so wide take two steps.
    if (keys.length > membersPerPass) yield;
    if (Object.keys(right).length !== keys.length) return false;
    for (const key of keys) {
      if (!Object.hasOwn(right, key)) return false;
      const mine = left[key] as Json;
      const theirs = right[key] as Json;
      if (mine !== theirs) pending.push([mine, theirs]);
      if (++members % membersPerPass === 0) yield;
    }
  }
  return true;
}

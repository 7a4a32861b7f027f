import { deepEqual, getOwn, isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';

/**
 * A value of an update beside the value it was before, as far as one can tell which that was (Kubernetes
 * `CorrelatedObject`). Lists without keys cannot be correlated below: there the nearest place that can stands for it.
 */
export class Correlation {
  readonly #value: Json;
  readonly #old: Json;
  readonly #parent: Correlation | undefined;
  #equal: boolean | undefined;

  constructor(value: Json, old: Json, parent?: Correlation) {
    this.#value = value;
    this.#old = old;
    this.#parent = parent;
  }

  /** Whether the value is what it was. Cached: every rule at the place may ask. */
  get unchanged(): boolean {
    this.#equal ??= this.#parent?.unchanged === true || deepEqual(this.#value, this.#old);
    return this.#equal;
  }

  child(value: Json, old: Json): Correlation {
    return new Correlation(value, old, this);
  }
}

/** Where a place stands: its own correlation, or that of the nearest place above that has one. */
export interface Standing {
  readonly current: Correlation | undefined;
  readonly nearest: Correlation | undefined;
}
export const nowhere: Standing = { current: undefined, nearest: undefined };

/** Whether a failure here may stay: nothing has changed. */
export function mayStay({ current, nearest }: Standing): boolean {
  return (current ?? nearest)?.unchanged === true;
}

/** The standing of a field or item. `old` undefined: it is new or cannot be correlated. */
export function below(standing: Standing, value: Json, old: Json | undefined): Standing {
  if (standing.current === undefined) return standing;
  const current = old === undefined ? undefined : standing.current.child(value, old);
  return { current, nearest: standing.current };
}

/** Finds the former items of a list by their keys; nothing for lists that have none. */
export function formerItems(schema: JsonObject, old: Json | undefined): (item: Json) => Json | undefined {
  const keys = getOwn(schema, 'x-kubernetes-list-map-keys');
  if (getOwn(schema, 'x-kubernetes-list-type') !== 'map' || !Array.isArray(keys) || !Array.isArray(old)) {
    return () => undefined;
  }
  const names = keys.filter((key) => typeof key === 'string');
  const keyOf = (item: Json): string | undefined =>
    isJsonObject(item) ? names.map((name) => keyPart(getOwn(item, name))).join(' ') : undefined;
  const byKey = new Map<string, Json>();
  for (const item of old as readonly Json[]) {
    const key = keyOf(item);
    if (key !== undefined && !byKey.has(key)) byKey.set(key, item);
  }
  return (item) => {
    const key = keyOf(item);
    return key === undefined ? undefined : byKey.get(key);
  };
}
function keyPart(value: Json | undefined): string {
  if (value === undefined) return '-';
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

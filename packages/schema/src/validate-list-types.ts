import {
  fieldErrors,
  getOwn,
  setOwn,
  type FieldError,
  type Json,
  type JsonArray,
  type JsonObject,
} from '@multiplane/apimachinery';
import type { SchemaNode } from './schema-node.ts';
import { shownValue } from './shown-value.ts';
import type { WorkBudget } from './work-budget.ts';
import { identityText, listMapKey } from './validate-value.ts';

/**
 * Lists of type set hold no item twice, lists of type map no two items with the same keys. The second of equal
 * items is reported, further ones are not. Subtrees without such lists are skipped.
 */
export function validateListTypes(value: Json, node: SchemaNode, budget: WorkBudget): FieldError[] {
  const walk = new ListTypeWalk(budget);
  walk.visit(value, node);
  return walk.errors;
}

class ListTypeWalk {
  readonly errors: FieldError[] = [];
  /** Parts of the path as they are printed. */
  readonly #path: string[] = [];
  readonly #budget: WorkBudget;

  constructor(budget: WorkBudget) {
    this.#budget = budget;
  }

  visit(value: Json, node: SchemaNode): void {
    if (!node.hasUniqueLists || typeof value !== 'object' || value === null) return;
    this.#budget.charge(1);
    if (Array.isArray(value)) {
      if (value.length > 1 || node.listType === 'map') this.#checkList(value, node);
      const items = node.items;
      if (items?.hasUniqueLists !== true) return;
      for (let index = 0; index < value.length; index++) {
        this.#path.push(`[${index}]`);
        this.visit(value[index] as Json, items);
        this.#path.pop();
      }
      return;
    }
    for (const name of Object.keys(value)) {
      const property = node.properties?.get(name);
      const schema = property ?? node.additional;
      if (schema === undefined || !schema.hasUniqueLists) continue;
      this.#path.push(property === undefined ? `[${name}]` : this.#path.length === 0 ? name : `.${name}`);
      this.visit(value[name] as Json, schema);
      this.#path.pop();
    }
  }

  #checkList(list: JsonArray, node: SchemaNode): void {
    this.#budget.charge(list.length * (node.listMapKeys?.length ?? 1));
    if (node.listType === 'set') {
      for (const index of repeated(list))
        this.errors.push(fieldErrors.duplicate(this.#where(index), shownValue(list[index] as Json)));
      return;
    }
    if (node.listType !== 'map') return;
    const misfit = list.findIndex((item) => item !== null && (typeof item !== 'object' || Array.isArray(item)));
    if (misfit >= 0) {
      const detail = 'must be an object for an array of list-type map';
      this.errors.push(fieldErrors.invalid(this.#where(misfit), shownValue(list[misfit] as Json), detail));
      return;
    }
    if (list.length < 2) return;
    const mapKeys = node.listMapKeys ?? [];
    if (new Set(list.map((item) => listMapKey(item, mapKeys))).size === list.length) return;
    const keys = list.map((item) => keyOf(item as JsonObject | null, mapKeys));
    for (const index of repeated(keys)) this.errors.push(fieldErrors.duplicate(this.#where(index), keys[index]));
  }

  #where(index: number): string {
    return `${this.#path.join('')}[${index}]`;
  }
}

/** Positions of the second occurrence of each value. */
function repeated(values: readonly Json[]): number[] {
  const seen = new Map<string, number>();
  const positions: number[] = [];
  for (let index = 0; index < values.length; index++) {
    const identity = identityText(values[index]);
    const times = seen.get(identity) ?? 0;
    if (times === 1) positions.push(index);
    seen.set(identity, times + 1);
  }
  return positions;
}

/** The values of the keys of an item, in the order in which messages show them. */
function keyOf(item: JsonObject | null, keys: readonly string[]): JsonObject {
  const key: JsonObject = {};
  if (item === null) return key;
  for (const name of keys.toSorted()) {
    const value = getOwn(item, name);
    if (value !== undefined) setOwn(key, name, value);
  }
  return key;
}

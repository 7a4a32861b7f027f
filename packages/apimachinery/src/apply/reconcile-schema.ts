import { FieldSet } from './field-set.ts';
import type { PathElement } from './path-element.ts';
import { type TypedSchema, deducedSchema, fieldSchema } from './typed-schema.ts';

/**
 * A manager's set under today's schema: where a list or map has become atomic since, a manager that owned fields in it
 * owns the whole. The other way nothing has to be done: what was owned as a whole stays owned.
 */
export function reconcileWithSchema(set: FieldSet, schema: TypedSchema): FieldSet {
  if (set.fits === schema) return set;
  const result = reconcile(set, schema);
  result.fits = schema;
  return result;
}

function reconcile(set: FieldSet, schema: TypedSchema): FieldSet {
  const { children } = set;
  if (children === undefined) return set;
  const { map, list } = schema;
  const first = children.keys().next().value as PathElement;
  const intoMap = first.charCodeAt(0) === fieldMark;
  const atomic = intoMap ? map?.atomic : list?.atomic;
  if (atomic === true) return FieldSet.leaf;
  let changed: Map<PathElement, FieldSet> | undefined;
  for (const [element, child] of children) {
    if (child.children === undefined) continue;
    const isField = element.charCodeAt(0) === fieldMark;
    const below = isField ? (map === undefined ? undefined : fieldSchema(map, element.slice(2))) : list?.element;
    if (below === undefined || below === deducedSchema) continue;
    const node = reconcile(child, below);
    if (node !== child) (changed ??= new Map(children)).set(element, node);
  }
  return changed === undefined ? set : FieldSet.node(set.owned, changed);
}

const fieldMark = 0x66;

import {
  fieldErrors,
  getOwn,
  isJsonObject,
  type FieldError,
  type FieldPath,
  type Json,
} from '@multiplane/apimachinery';
import { typedProblem } from './decode-typed.ts';
import { objectMetaNode } from './object-meta-node.ts';
import { Pruner } from './prune.ts';
import type { SchemaNode } from './schema-node.ts';
import { shownValue } from './shown-value.ts';

/**
 * Brings the metadata of embedded resources into the form of ObjectMeta, in place, and checks the types of what every
 * object has. Answers with the first misfit, with which Kubernetes refuses to decode the object
 * (apiextensions `schema/objectmeta/algorithm.go`).
 */
export function coerceEmbedded(value: Json, node: SchemaNode, path: FieldPath): FieldError | undefined {
  if (!node.hasEmbedded || typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    const items = node.items;
    if (items?.hasEmbedded !== true) return undefined;
    for (const [index, item] of value.entries()) {
      const problem = coerceEmbedded(item, items, path.index(index));
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const name of Object.keys(value)) {
    if (node.embedded && name === 'metadata' && value[name] === null) {
      value[name] = {};
      continue;
    }
    const child = value[name] as Json;
    const problem =
      (node.embedded ? coerceMember(name, child, path.child(name)) : undefined) ?? coerceChild(name, child, node, path);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function coerceChild(name: string, child: Json, node: SchemaNode, path: FieldPath): FieldError | undefined {
  const property = node.properties?.get(name);
  if (property !== undefined) return coerceEmbedded(child, property, path.child(name));
  return node.additional === undefined ? undefined : coerceEmbedded(child, node.additional, path.key(name));
}

function coerceMember(name: string, value: Json, path: FieldPath): FieldError | undefined {
  if (name === 'apiVersion' || name === 'kind') {
    return typeof value === 'string' ? undefined : fieldErrors.invalid(path, shownValue(value), 'must be a string');
  }
  if (name !== 'metadata') return undefined;
  const problem = metadataProblem(value);
  return problem === undefined ? undefined : fieldErrors.invalid(path, shownValue(value), problem);
}

/** What Go's decoder says of metadata; undefined: it is well-formed, and now has its canonical form. */
export function metadataProblem(metadata: Json): string | undefined {
  if (metadata === null) return undefined;
  if (!isJsonObject(metadata)) {
    const type = Array.isArray(metadata) ? 'array' : typeof metadata === 'boolean' ? 'bool' : typeof metadata;
    return `json: cannot unmarshal ${type === 'bigint' ? 'number' : type} into Go value of type v1.ObjectMeta`;
  }
  const problem = typedProblem(metadata, objectMetaNode(), 'ObjectMeta');
  if (problem !== undefined) return problem;
  new Pruner().prune(metadata, objectMetaNode());
  for (const name of Object.keys(metadata)) if (isUnset(name, getOwn(metadata, name))) delete metadata[name];
  return undefined;
}

/** Members that ObjectMeta leaves out when it is written. */
function isUnset(name: string, value: Json | undefined): boolean {
  if (value === null || value === '') return true;
  if (name === 'generation') return Number(value) === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

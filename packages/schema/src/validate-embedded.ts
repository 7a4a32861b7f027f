import {
  deepCopy,
  fieldErrors,
  FieldPath,
  getOwn,
  validateDns1035Label,
  validateObjectMeta,
  validatePathSegmentName,
  type FieldError,
  type Json,
  type JsonObject,
  type ObjectMeta,
} from '@multiplane/apimachinery';
import { metadataProblem } from './coerce-embedded.ts';
import type { SchemaNode } from './schema-node.ts';
import { shownValue } from './shown-value.ts';

/** Embedded resources name their kind, as whole objects do. */
export function validateEmbedded(value: Json, node: SchemaNode, path: FieldPath = FieldPath.root()): FieldError[] {
  const errors: FieldError[] = [];
  walk(value, node, path, errors);
  return errors;
}

function walk(value: Json, node: SchemaNode, path: FieldPath, errors: FieldError[]): void {
  if (!node.hasEmbedded || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    const items = node.items;
    if (items?.hasEmbedded === true) value.forEach((item, index) => walk(item, items, path.index(index), errors));
    return;
  }
  if (node.embedded) validateTypeMeta(value, path, errors);
  for (const name of Object.keys(value)) {
    const property = node.properties?.get(name);
    const schema = property ?? node.additional;
    if (schema === undefined || !schema.hasEmbedded) continue;
    walk(value[name] as Json, schema, property === undefined ? path.key(name) : path.child(name), errors);
  }
}

function validateTypeMeta(object: JsonObject, path: FieldPath, errors: FieldError[]): void {
  const fields = ['apiVersion', 'kind'] as const;
  for (const field of fields)
    if (getOwn(object, field) === undefined) errors.push(fieldErrors.required(path.child(field)));
  for (const field of fields) {
    const value = getOwn(object, field);
    const where = path.child(field);
    if (value === undefined) continue;
    if (typeof value !== 'string') errors.push(fieldErrors.invalid(where, shownValue(value), 'must be a string'));
    else if (value === '') errors.push(fieldErrors.invalid(where, value, 'must not be empty'));
    else if (field === 'kind') validateKind(value, where, errors);
    else if (value.split('/').length > 2) {
      errors.push(fieldErrors.invalid(where, value, `unexpected GroupVersion string: ${value}`));
    }
  }
  const metadata = getOwn(object, 'metadata');
  if (metadata !== undefined) validateMetadata(metadata, path.child('metadata'), errors);
}

function validateKind(kind: string, where: FieldPath, errors: FieldError[]): void {
  const messages = validateDns1035Label(kind.toLowerCase());
  if (messages.length === 0) return;
  const detail = `may have mixed case, but should otherwise match: ${messages.join(',')}`;
  errors.push(fieldErrors.invalid(where, kind, detail));
}

/** As of any object, except that the name may be missing. */
function validateMetadata(metadata: Json, where: FieldPath, errors: FieldError[]): void {
  const problem = metadataProblem(deepCopy(metadata));
  if (problem !== undefined) {
    errors.push(fieldErrors.invalid(where, shownValue(metadata), problem));
    return;
  }
  const meta = (metadata ?? {}) as unknown as ObjectMeta;
  errors.push(
    ...validateObjectMeta(
      { ...meta, name: meta.name === undefined || meta.name === '' ? 'unnamed' : meta.name },
      {
        namespaced: meta.namespace !== undefined && meta.namespace !== '',
        validateName: validatePathSegmentName,
        path: where,
      },
    ),
  );
}

import { fieldErrors, FieldPath, getOwn, type FieldError, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { SchemaNode } from './schema-node.ts';

const kindPattern = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;

/** Embedded resources name their kind, as whole objects do (K5.5). */
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
  for (const field of ['apiVersion', 'kind']) {
    const value = getOwn(object, field);
    const where = path.child(field);
    if (value === undefined) errors.push(fieldErrors.required(where, 'must not be empty'));
    else if (typeof value !== 'string') errors.push(fieldErrors.invalid(where, value, 'must be a string'));
    else if (value === '') errors.push(fieldErrors.invalid(where, value, 'must not be empty'));
    else if (field === 'apiVersion') validateApiVersion(value, where, errors);
    else if (value.length > 63 || !kindPattern.test(value.toLowerCase())) {
      errors.push(
        fieldErrors.invalid(where, value, `may have mixed case, but should otherwise match: ${labelRule(value)}`),
      );
    }
  }
}

function validateApiVersion(value: string, where: FieldPath, errors: FieldError[]): void {
  if (value.split('/').length > 2)
    errors.push(fieldErrors.invalid(where, value, `unexpected GroupVersion string: ${value}`));
}

function labelRule(value: string): string {
  if (value.length > 63) return 'must be no more than 63 characters';
  return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
}

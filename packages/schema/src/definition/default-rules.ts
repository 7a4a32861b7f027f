import {
  deepCopy,
  deepEqual,
  fieldErrors,
  type FieldError,
  type FieldPath,
  type JsonObject,
} from '@multiplane/apimachinery';
import { Pruner } from '../prune.ts';
import { SchemaCompiler } from '../schema-compiler.ts';
import { validateEmbedded } from '../validate-embedded.ts';
import { ValueValidator } from '../validate-value.ts';
import { defaultOf, isTrue, namedSchemasOf, objectOf, propertyPath } from './schema-document.ts';

/** Defaults must fit the schema they stand in and hold nothing that it would prune (K5.2). The schema is structural. */
export function validateDefaults(schema: JsonObject, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  walk(schema, true, false, path, errors);
  return errors;
}

function walk(
  schema: JsonObject,
  isResource: boolean,
  insideMetadata: boolean,
  path: FieldPath,
  errors: FieldError[],
): void {
  const resource = isResource || isTrue(schema, 'x-kubernetes-embedded-resource');
  const inside = insideMetadata && !resource;
  if (defaultOf(schema) !== undefined) validateDefault(schema, inside, path.child('default'), errors);
  // Defaults of values of maps are not followed: nothing is there to put them into.
  const items = objectOf(schema, 'items');
  if (items !== undefined) walk(items, false, inside, path.child('items'), errors);
  for (const [name, property] of namedSchemasOf(schema, 'properties')) {
    const meta = resource && (name === 'metadata' || name === 'apiVersion' || name === 'kind');
    walk(property, false, inside || meta, propertyPath(path, name), errors);
  }
}

function validateDefault(schema: JsonObject, insideMetadata: boolean, path: FieldPath, errors: FieldError[]): void {
  const value = defaultOf(schema);
  if (value === undefined) return;
  const node = new SchemaCompiler({ origin: 'custom' }).compile(schema);
  if (!insideMetadata) {
    const pruned = deepCopy(value);
    new Pruner().prune(pruned, node);
    if (!deepEqual(pruned, value)) errors.push(fieldErrors.invalid(path, value, 'must not have unknown fields'));
    const embedded = validateEmbedded(value, node, path);
    if (embedded.length > 0) {
      errors.push(...embedded);
      return;
    }
  }
  const validator = new ValueValidator(path.toString());
  validator.validate(value, node, undefined);
  errors.push(...validator.errors);
}

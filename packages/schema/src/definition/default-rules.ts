import {
  deepCopy,
  deepEqual,
  fieldErrors,
  type FieldError,
  type FieldPath,
  type JsonObject,
} from '@multiplane/apimachinery';
import { judgeDefault, ruleBudget, type RuleBudget } from '../cel/rule-validator.ts';
import { Pruner } from '../prune.ts';
import { SchemaCompiler } from '../schema-compiler.ts';
import { validateEmbedded } from '../validate-embedded.ts';
import { ValueValidator } from '../validate-value.ts';
import { defaultOf, isTrue, namedSchemasOf, objectOf, propertyPath } from './schema-document.ts';

/** Defaults must fit the schema they stand in and hold nothing that it would prune, and the rules of their place hold for them. The schema is structural. */
export function validateDefaults(schema: JsonObject, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  walk(schema, { isRoot: true, insideMetadata: false }, path, errors, ruleBudget());
  return errors;
}

interface Place {
  readonly isRoot: boolean;
  readonly insideMetadata: boolean;
}

function walk(schema: JsonObject, place: Place, path: FieldPath, errors: FieldError[], budget: RuleBudget): void {
  const resource = place.isRoot || isTrue(schema, 'x-kubernetes-embedded-resource');
  const inside = place.insideMetadata && !resource;
  const own: Place = { isRoot: resource, insideMetadata: inside };
  if (defaultOf(schema) !== undefined) validateDefault(schema, own, path.child('default'), errors, budget);
  // Defaults of values of maps are not followed: nothing is there to put them into.
  const items = objectOf(schema, 'items');
  if (items !== undefined) {
    walk(items, { isRoot: false, insideMetadata: inside }, path.child('items'), errors, budget);
  }
  for (const [name, property] of namedSchemasOf(schema, 'properties')) {
    const meta = resource && (name === 'metadata' || name === 'apiVersion' || name === 'kind');
    walk(property, { isRoot: false, insideMetadata: inside || meta }, propertyPath(path, name), errors, budget);
  }
}

function validateDefault(
  schema: JsonObject,
  place: Place,
  path: FieldPath,
  errors: FieldError[],
  budget: RuleBudget,
): void {
  const value = defaultOf(schema);
  if (value === undefined) return;
  const node = new SchemaCompiler({ origin: 'custom' }).compile(schema);
  if (!place.insideMetadata) {
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
  // Rules may rely on the types of what they read.
  if (validator.errors.length === 0) errors.push(...judgeDefault(schema, place.isRoot, path, value, budget));
}

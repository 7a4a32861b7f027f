import {
  deepCopy,
  deepEqual,
  fieldErrors,
  FieldPath,
  fieldErrorText,
  type FieldError,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import { judgeDefault, ruleBudget, type RuleBudget } from '../cel/rule-validator.ts';
import { coerceEmbedded } from '../coerce-embedded.ts';
import { Pruner } from '../prune.ts';
import { SchemaCompiler } from '../schema-compiler.ts';
import type { SchemaNode } from '../schema-node.ts';
import { validateEmbedded } from '../validate-embedded.ts';
import { shownValue } from '../shown-value.ts';
import { ValueValidator } from '../validate-value.ts';
import { defaultOf, isTrue, namedSchemasOf, objectOf, propertyPath } from './schema-document.ts';

/**
 * Defaults must fit the schema they stand in and hold nothing that it would prune, and the rules of their place hold for
 * them. Inside the metadata of a resource they must result in valid metadata. The schema is structural
 * (apiextensions `schema/defaulting/validation.go`). Embedded metadata of defaults gets the form of ObjectMeta, in place.
 */
export function validateDefaults(schema: JsonObject, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  walk(schema, { isResource: true, resource: schema, steps: [], insideMetadata: false }, path, errors, ruleBudget());
  return errors;
}

/** Kubernetes validates defaults by the structural schema, in which int-or-string names no types and all formats are left. */
const structuralNode = (schema: JsonObject): SchemaNode =>
  new SchemaCompiler({ origin: 'custom', isForDefaults: true }).compile(schema);

interface Place {
  /** The place is a resource: the whole object, or one that is embedded in it. */
  readonly isResource: boolean;
  /** The schema of the nearest resource, and the way from there: names of fields, 0 for the item of a list. */
  readonly resource: JsonObject;
  readonly steps: readonly (string | 0)[];
  readonly insideMetadata: boolean;
}

const isMetaField = (name: string): boolean => name === 'metadata' || name === 'apiVersion' || name === 'kind';

function walk(schema: JsonObject, outer: Place, path: FieldPath, errors: FieldError[], budget: RuleBudget): void {
  const place = isTrue(schema, 'x-kubernetes-embedded-resource')
    ? { isResource: true, resource: schema, steps: [], insideMetadata: false }
    : outer;
  const value = defaultOf(schema);
  if (value !== undefined) validateDefault(schema, value, place, path.child('default'), errors, budget);
  const below = (step: string | 0, insideMetadata = place.insideMetadata): Place => ({
    isResource: false,
    resource: place.resource,
    steps: [...place.steps, step],
    insideMetadata,
  });
  // Defaults of values of maps are not followed: nothing is there to put them into.
  const items = objectOf(schema, 'items');
  if (items !== undefined) walk(items, below(0), path.child('items'), errors, budget);
  for (const [name, property] of namedSchemasOf(schema, 'properties')) {
    const isMeta = place.insideMetadata || (place.isResource && isMetaField(name));
    walk(property, below(name, isMeta), propertyPath(path, name), errors, budget);
  }
}

function validateDefault(
  schema: JsonObject,
  given: Json,
  place: Place,
  path: FieldPath,
  errors: FieldError[],
  budget: RuleBudget,
): void {
  const value = deepCopy(given);
  const node = structuralNode(schema);
  const found = place.insideMetadata
    ? metadataErrors(value, place, path)
    : objectErrors(value, node, place, path, errors);
  if (found.length > 0) {
    errors.push(...found);
    return;
  }
  // Kubernetes validates the default itself, not a copy: metadata of embedded resources is stored in the form that it then has.
  if (!place.insideMetadata && node.hasEmbedded) schema['default'] = value;
  const validator = new ValueValidator(path.toString());
  validator.validate(value, node, undefined);
  errors.push(...validator.errors);
  // Rules may rely on the types of what they read.
  if (validator.errors.length === 0) errors.push(...judgeDefault(schema, place.isResource, path, value, budget));
}

/** Unknown fields do not keep the others from being checked. */
function objectErrors(
  value: Json,
  node: SchemaNode,
  place: Place,
  path: FieldPath,
  errors: FieldError[],
): FieldError[] {
  const pruned = deepCopy(value);
  new Pruner({ keepsMetadata: true }).prune(pruned, node, place.isResource);
  if (!deepEqual(pruned, value))
    errors.push(fieldErrors.invalid(path, shownValue(value), 'must not have unknown fields'));
  const wholeNode = asResource(node, place.isResource);
  const misfit = coerceEmbedded(value, wholeNode, path);
  return misfit === undefined ? validateEmbedded(value, wholeNode, path) : [misfit];
}

/** Puts the default into an object that has nothing else, and looks at its metadata. */
function metadataErrors(value: Json, place: Place, path: FieldPath): FieldError[] {
  const object = surrounding(deepCopy(value), place.steps);
  const node = asResource(new SchemaCompiler({ origin: 'custom' }).compile(place.resource), true);
  const misfit = coerceEmbedded(object, node, FieldPath.root());
  const texts = (misfit === undefined ? validateEmbedded(object, node) : [misfit]).map(fieldErrorText);
  if (texts.length === 0) return [];
  const unique = [...new Set(texts)];
  const text = unique.length === 1 ? unique[0] : `[${unique.join(', ')}]`;
  return [fieldErrors.invalid(path, shownValue(value), `must result in valid metadata: ${text}`)];
}

/** A copy of the node that is a resource, whatever its schema says. */
function asResource(node: SchemaNode, isResource: boolean): SchemaNode {
  if (!isResource || node.embedded) return node;
  return Object.assign(Object.create(Object.getPrototypeOf(node) as object) as SchemaNode, node, {
    embedded: true,
    hasEmbedded: true,
  });
}

function surrounding(value: Json, steps: readonly (string | 0)[]): JsonObject {
  let object: Json = value;
  for (const step of steps.toReversed()) object = step === 0 ? [object] : Object.fromEntries([[step, object]]);
  return { apiVersion: 'validation/v1', kind: 'Validation', ...(object as JsonObject) };
}

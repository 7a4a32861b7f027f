import { isJsonObject, type JsonObject } from '@multiplane/apimachinery';
import { resolveComponent, componentPrefix } from './components.ts';
import { fieldFactsOf } from './protobuf-messages.ts';

/** A struct without fields: published schemas have no properties, as for objects of any form. */
const emptyStruct = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceStatus';

const ordered = new WeakMap<JsonObject, JsonObject>();

/**
 * A schema component with its properties in the order of the Go struct, in which converters of Kubernetes go through an object
 * and so report the first misfit. Published schemas are sorted by name; the tables of protobuf messages keep the order.
 */
export function inFieldOrder(component: string, schema: JsonObject): JsonObject {
  const known = ordered.get(schema);
  if (known !== undefined) return known;
  const { properties } = schema;
  const names = fieldNames(component.split('.').slice(-3).join('.'));
  let result: JsonObject = component === emptyStruct ? { ...schema, properties: {} } : schema;
  if (isJsonObject(properties) && names.length > 0) {
    // Type and version are in no message, and the first fields of their structs.
    const order = new Map(['kind', 'apiVersion', ...names].reverse().map((name, index) => [name, -index]));
    const entries = Object.entries(properties);
    entries.sort(([a], [b]) => (order.get(a) ?? 1) - (order.get(b) ?? 1));
    result = { ...schema, properties: Object.fromEntries(entries) };
  }
  ordered.set(schema, result);
  return result;
}

/** The component behind a `$ref`, {@link inFieldOrder}. */
export function resolveInFieldOrder(ref: string): JsonObject | undefined {
  const schema = resolveComponent(ref);
  return schema && inFieldOrder(ref.slice(componentPrefix.length), schema);
}

const fieldNames = (message: string): string[] =>
  fieldFactsOf(message).flatMap(({ name, type, shape }) => (shape === 'inlined' ? fieldNames(type) : [name]));

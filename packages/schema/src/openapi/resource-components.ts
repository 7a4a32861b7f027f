import { deepEqual, isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { PatchMeta } from '../compiled-schema.ts';
import { componentName, componentReference, metaReference, type OpenAPIResource } from './openapi-resource.ts';

const apiVersion: JsonObject = { description: 'Group and version of the schema of this object.', type: 'string' };
const kind: JsonObject = { description: 'Kind of this object.', type: 'string' };
const metadata = (type: 'ObjectMeta' | 'ListMeta'): JsonObject => ({
  description: type === 'ObjectMeta' ? 'Standard metadata of the object.' : 'Standard metadata of the list.',
  allOf: [metaReference(type)],
});

/** The components of a resource: its kind and its list. */
export function resourceComponents(resource: OpenAPIResource): Record<string, JsonObject> {
  const name = componentName(resource, resource.origin);
  const schema = resource.origin === 'custom' ? customComponent(resource) : resource.schema;
  const components = { [name]: schema };
  if (resource.verbs.includes('list')) components[listName(resource)] = listComponent(resource, name);
  return components;
}

export function listName(resource: OpenAPIResource): string {
  return componentName({ ...resource, kind: resource.listKind }, resource.origin);
}

const gvk = (resource: OpenAPIResource, kind: string): JsonObject => ({
  group: resource.group,
  kind,
  version: resource.version,
});

function selectableFields(resource: OpenAPIResource): JsonObject {
  if (resource.selectableFields === undefined || resource.selectableFields.length === 0) return {};
  const fields = resource.selectableFields.map((path): JsonObject => ({
    fieldPath: path.startsWith('.') ? path.slice(1) : path,
  }));
  return { 'x-kubernetes-selectable-fields': fields };
}

/** The schema as its author wrote it, with the fields that every object has. */
function customComponent(resource: OpenAPIResource): JsonObject {
  const complete = withMetaFields(resource.schema, true) as JsonObject;
  const { nativePatchMeta } = resource;
  const schema = nativePatchMeta === undefined ? complete : withPatchMeta(complete, nativePatchMeta);
  return {
    ...schema,
    'x-kubernetes-group-version-kind': [gvk(resource, resource.kind)],
    ...selectableFields(resource),
  };
}

/**
 * Adds apiVersion, kind and metadata to the root and to embedded resources, which must have the first two, and the
 * alternatives of int-or-string; shares everything else.
 */
function withMetaFields(whole: Json, isRoot: boolean): Json {
  if (!isJsonObject(whole)) return whole;
  const value = whole['x-kubernetes-int-or-string'] === true ? withAlternatives(whole) : whole;
  const isEmbedded = value['x-kubernetes-embedded-resource'] === true;
  const properties = value['properties'];
  let changed: JsonObject | undefined;
  if (isJsonObject(properties)) {
    for (const name of Object.keys(properties)) {
      const before = properties[name] as Json;
      const after = withMetaFields(before, false);
      if (after === before) continue;
      changed ??= { ...properties };
      changed[name] = after;
    }
  }
  if (isRoot || isEmbedded) {
    changed = {
      ...(changed ?? (isJsonObject(properties) ? properties : {})),
      apiVersion,
      kind,
      metadata: metadata('ObjectMeta'),
    };
  }
  const items = value['items'];
  const newItems = items === undefined ? undefined : withMetaFields(items, false);
  const additional = value['additionalProperties'];
  const newAdditional = additional === undefined ? undefined : withMetaFields(additional, false);
  if (changed === undefined && newItems === items && newAdditional === additional) return value;
  return {
    ...value,
    ...(changed === undefined ? {} : { properties: changed }),
    ...(isEmbedded ? { required: requiredOfEmbedded(value['required']) } : {}),
    ...(newItems === undefined ? {} : { items: newItems }),
    ...(newAdditional === undefined ? {} : { additionalProperties: newAdditional }),
  };
}

function requiredOfEmbedded(required: Json | undefined): Json[] {
  const names = Array.isArray(required) ? required : [];
  return [...names, ...['kind', 'apiVersion'].filter((name) => !names.includes(name))];
}

const intOrString: Json = [{ type: 'integer' }, { type: 'string' }];

/** Says an int-or-string in terms of JSON schema too, unless its author did (Kubernetes: Structural.Unfold). */
function withAlternatives(schema: JsonObject): JsonObject {
  const { anyOf, allOf } = schema;
  if (anyOf === undefined) {
    const [first] = Array.isArray(allOf) ? allOf : [];
    if (first !== undefined && isJsonObject(first) && deepEqual(first['anyOf'] ?? null, intOrString)) return schema;
    return { ...schema, anyOf: intOrString };
  }
  if (deepEqual(anyOf, intOrString)) return schema;
  return { ...schema, allOf: [{ anyOf: intOrString }, ...(Array.isArray(allOf) ? allOf : [])] };
}

/**
 * Says at each field how strategic merge patches merge it: clients that make such patches compare what they have by the
 * keys that stand here, and these must be those that the server merges by.
 */
function withPatchMeta(schema: JsonObject, meta: PatchMeta): JsonObject {
  const { properties, items } = schema;
  if (isJsonObject(items)) {
    const inner = withPatchMeta(items, meta);
    return inner === items ? schema : { ...schema, items: inner };
  }
  if (!isJsonObject(properties)) return schema;
  let changed: JsonObject | undefined;
  for (const name of Object.keys(properties)) {
    const field = meta.field(name);
    const before = properties[name];
    if (field === undefined || !isJsonObject(before)) continue;
    const { strategies, mergeKey } = field;
    const inner = withPatchMeta(before, field);
    if (inner === before && strategies.length === 0) continue;
    changed ??= { ...properties };
    changed[name] = {
      ...inner,
      ...(strategies.length === 0 ? {} : { 'x-kubernetes-patch-strategy': strategies.join(',') }),
      ...(mergeKey === undefined ? {} : { 'x-kubernetes-patch-merge-key': mergeKey }),
    };
  }
  return changed === undefined ? schema : { ...schema, properties: changed };
}

function listComponent(resource: OpenAPIResource, item: string): JsonObject {
  return {
    description: `List of ${resource.kind}.`,
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion,
      items: { description: 'The objects of the list.', type: 'array', items: componentReference(item) },
      kind,
      metadata: resource.origin === 'custom' ? metadata('ListMeta') : { ...metadata('ListMeta'), default: {} },
    },
    'x-kubernetes-group-version-kind': [gvk(resource, resource.listKind)],
    ...selectableFields(resource),
  };
}

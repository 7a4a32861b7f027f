import { type GroupVersion, type Json, type JsonObject } from '@multiplane/apimachinery';
import { componentReference, type OpenAPIDefinitions, type OpenAPIResource } from './openapi-resource.ts';
import { resourceComponents } from './resource-components.ts';
import { addGroupVersionPath, groupVersionNames, pathNames, ResourcePaths } from './resource-paths.ts';

/**
 * The OpenAPI v3 document of one group version: components of its kinds and lists and of all they refer to,
 * and its paths. It depends on nothing but its arguments, so workspaces with the same resources can share it.
 */
export function buildOpenAPIv3(
  groupVersion: GroupVersion,
  resources: readonly OpenAPIResource[],
  definitions: OpenAPIDefinitions,
): JsonObject {
  const components: JsonObject = {};
  const paths: JsonObject = {};
  if (resources.some(({ origin }) => origin === 'built-in'))
    addGroupVersionPath(groupVersionNames(groupVersion), paths);
  for (const resource of resources) {
    Object.assign(components, resourceComponents(resource));
    new ResourcePaths(resource, pathNames(resource), paths).add();
  }
  return openAPIDocument(components, paths, definitions);
}

/** A document around components and paths; everything that they refer to is added to the components. */
export function openAPIDocument(
  components: JsonObject,
  paths: JsonObject,
  definitions: OpenAPIDefinitions,
): JsonObject {
  addReferred([components, paths], components, definitions);
  return {
    openapi: '3.0.0',
    info: { title: 'Multiplane', version: definitions.version },
    paths: sorted(paths),
    components: {
      ...(Object.keys(components).length === 0 ? {} : { schemas: sorted(components) }),
      securitySchemes: {
        BearerToken: {
          description: 'Bearer Token authentication',
          in: 'header',
          name: 'authorization',
          type: 'apiKey',
        },
      },
    },
  };
}

/** The components of a resource, and of all that they and its paths refer to; `referred` by the paths, their names. */
export function componentsOf(
  resource: OpenAPIResource,
  referred: Iterable<string>,
  definitions: OpenAPIDefinitions,
): JsonObject {
  const components: JsonObject = resourceComponents(resource);
  addReferred([components, ...[...referred].map(componentReference)], components, definitions);
  return components;
}

const prefix = '#/components/schemas/';

/** Names of components that a known component refers to itself: hundreds of documents share the same few. */
const referencesOf = new WeakMap<JsonObject, readonly string[]>();

function addReferred(roots: readonly Json[], components: JsonObject, definitions: OpenAPIDefinitions): void {
  const open = [...references(roots)];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (Object.hasOwn(components, name)) continue;
    const component = definitions.resolve(prefix + name);
    // Not every text that looks like a reference is one: it may be part of a default or an example.
    if (component === undefined) continue;
    components[name] = component;
    let names = referencesOf.get(component);
    if (names === undefined) referencesOf.set(component, (names = [...references([component])]));
    open.push(...names);
  }
}

/** Names of the components that something refers to, wherever in it. */
export function references(roots: readonly Json[]): Set<string> {
  const names = new Set<string>();
  const open: (Json[] | JsonObject)[] = [];
  // Parameters and schemas are shared many times over: each object is looked at once.
  const seen = new Set<Json>();
  const look = (value: Json): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    open.push(value);
  };
  for (const root of roots) look(root);
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Array.isArray(value)) {
      for (const item of value) look(item);
      continue;
    }
    const reference = value['$ref'];
    if (typeof reference === 'string' && reference.startsWith(prefix)) names.add(reference.slice(prefix.length));
    for (const key of Object.keys(value)) look(value[key] as Json);
  }
  return names;
}

function sorted(map: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(map).toSorted()) result[key] = map[key] as Json;
  return result;
}

import type { Json, JsonObject, KubeObject } from '@multiplane/apimachinery';

/* Fixtures of API providers, as plain objects for in-process clients and for HTTP requests alike. */

export interface WantedSchema {
  readonly group?: string;
  readonly plural: string;
  /** Default: the plural without its last letter, capitalized. */
  readonly kind?: string;
  readonly scope?: 'Cluster' | 'Namespaced';
  /** Prefix of the name. */
  readonly prefix?: string;
  /** Schema of the spec; any object by default. */
  readonly spec?: JsonObject;
  /** Replaces the single version `v1`. */
  readonly versions?: Json;
}

/** An APIResourceSchema `<prefix>.<plural>.<group>`, with conversion strategy None. */
export function apiResourceSchema(wanted: WantedSchema): KubeObject {
  const { group = 'example.dev', plural, prefix = 'v1', scope = 'Namespaced', spec } = wanted;
  const singular = plural.slice(0, -1);
  const { kind = `${singular[0]?.toUpperCase()}${singular.slice(1)}` } = wanted;
  const schema: JsonObject = { type: 'object', ...(spec === undefined ? {} : { properties: { spec } }) };
  const { versions = [{ name: 'v1', served: true, storage: true, schema }] } = wanted;
  return {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: `${prefix}.${plural}.${group === '' ? 'core' : group}` },
    spec: {
      group,
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      scope,
      versions,
      ...(Array.isArray(versions) && versions.length > 1 ? { conversion: { strategy: 'None' } } : {}),
    },
  };
}

/** An APIExport of schemas by their names (`<prefix>.<plural>.<group>`). */
export function apiExport(name: string, schemas: readonly string[], spec: JsonObject = {}): KubeObject {
  return {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name },
    spec: { resources: schemas.map(exportedResource), ...spec },
  };
}

/** The entry of a schema in `spec.resources` of an APIExport. */
export function exportedResource(schema: string): JsonObject {
  const [, resource = '', ...group] = schema.split('.');
  const suffix = group.join('.');
  return { name: resource, group: suffix === 'core' ? '' : suffix, schema };
}

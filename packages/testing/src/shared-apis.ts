import type { Json, JsonObject, KubeObject } from '@multiplane/apimachinery';

/*
 * What a provider offers, as tests write it. Plain objects: they go through clients of a shard in process as well as
 * through requests to a control plane that runs apart.
 */

export interface WantedSchema {
  readonly group?: string;
  readonly plural: string;
  /** Absent: the plural without its last letter, with a capital. */
  readonly kind?: string;
  readonly scope?: 'Cluster' | 'Namespaced';
  /** First part of the name. */
  readonly prefix?: string;
  /** Schema of the spec; absent: anything goes. */
  readonly spec?: JsonObject;
  /** Instead of the one version `v1` with that spec. */
  readonly versions?: Json;
}

/** An APIResourceSchema named `<prefix>.<plural>.<group>`; versions convert by changing nothing but their name. */
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

/** How an export names a schema. */
export function exportedResource(schema: string): JsonObject {
  const [, resource = '', ...group] = schema.split('.');
  const suffix = group.join('.');
  return { name: resource, group: suffix === 'core' ? '' : suffix, schema };
}

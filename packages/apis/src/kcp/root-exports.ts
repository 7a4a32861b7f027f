import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import type { APIResourceSchema } from './api-sharing.ts';
import { kcpDefinitionObjects } from './kcp-resources.ts';
import { contentNamedSchema, rootExport, type RootExport } from './root-export.ts';
import { rootExportKinds } from './root-export-kinds.ts';

/** When the kinds got the shape that they have; what they are now is in the hash beside it. */
const shapedOn = 'v261121';

/**
 * The exports of root, made of the compiled kinds: what consumers bind is what is served. A schema is named by its
 * content, for it cannot change; an export moves on to the next one.
 */
export function rootExports(): readonly RootExport[] {
  const kinds = new Map(kcpDefinitionObjects().map((object) => [object.metadata.name, object]));
  return rootExportKinds.map(({ name, group, plurals, policy, feature }) => {
    const schemas = plurals.map((plural) => schemaOf(kinds.get(`${plural}.${group}`) as KubeObject));
    return { ...rootExport({ name, group, schemas, hasPolicy: policy === true }), feature };
  });
}

interface Definition {
  readonly group: string;
  readonly scope: 'Cluster';
  readonly names: NonNullable<APIResourceSchema['spec']>['names'];
  readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: JsonObject } }[];
}

function schemaOf(definition: KubeObject): APIResourceSchema {
  const { group, scope, names, versions } = definition['spec'] as Definition;
  const spec = {
    group,
    names,
    scope,
    versions: versions.map(({ schema, ...version }) => ({ ...version, schema: schema.openAPIV3Schema })),
  } as unknown as NonNullable<APIResourceSchema['spec']>;
  return contentNamedSchema(shapedOn, spec);
}

import { hexSha256, encodeJson, type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import type { APIExport, APIResourceSchema } from './api-sharing.ts';
import { kcpDefinitionObjects } from './kcp-resources.ts';
import { rootExportKinds } from './root-export-kinds.ts';

/** An export of the root workspace as it should be, with the schemas behind it. */
export interface RootExport {
  readonly export: APIExport;
  readonly schemas: readonly APIResourceSchema[];
  /** Made only where this feature is on. */
  readonly feature: string | undefined;
}

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
    return {
      export: {
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIExport',
        metadata: { name },
        spec: {
          resources: schemas.map(({ metadata, spec }) => ({
            group,
            name: spec?.names.plural ?? '',
            schema: metadata.name ?? '',
            storage: { crd: {} },
          })),
          ...(policy === undefined ? {} : { maximalPermissionPolicy: { local: {} } }),
        },
      },
      schemas,
      feature,
    };
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
  const content = encodeJson(spec);
  const hash = hexSha256(content).slice(0, 9);
  return {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: `${shapedOn}-${hash}.${names.plural}.${group}` },
    spec,
  };
}

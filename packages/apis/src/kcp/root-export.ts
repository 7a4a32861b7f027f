import { encodeJson, hexSha256 } from '@multiplane/apimachinery';
import type { APIExport, APIResourceSchema } from './api-sharing.ts';

/** An export of the root workspace as it should be, with the schemas behind it. */
export interface RootExport {
  readonly export: APIExport;
  readonly schemas: readonly APIResourceSchema[];
  /** Made only where this feature is on. */
  readonly feature: string | undefined;
}

/** An export of stored resources, one for each schema. `hasPolicy`: root limits what consumers may do with them. */
export function rootExport(given: {
  readonly name: string;
  readonly group: string;
  readonly schemas: readonly APIResourceSchema[];
  readonly hasPolicy: boolean;
}): Omit<RootExport, 'feature'> {
  const { name, group, schemas, hasPolicy } = given;
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
        ...(hasPolicy ? { maximalPermissionPolicy: { local: {} } } : {}),
      },
    },
    schemas,
  };
}

/** A schema that is named by its content, for it cannot change: an export moves on to the next one. */
export function contentNamedSchema(
  prefix: string,
  spec: NonNullable<APIResourceSchema['spec']>,
  annotations?: Readonly<Record<string, string>>,
): APIResourceSchema {
  const hash = hexSha256(encodeJson(spec)).slice(0, 9);
  const { group, names } = spec;
  return {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: {
      name: `${prefix}-${hash}.${names.plural}.${group === '' ? 'core' : group}`,
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
    },
    spec,
  };
}

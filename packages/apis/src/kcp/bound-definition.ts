import {
  clusterAnnotation,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { apiApprovedAnnotation } from '../apiextensions/api-approval.ts';
import {
  boundDefinitionAnnotation,
  nameValidationAnnotation,
  schemaClusterAnnotation,
  schemaNameAnnotation,
  type APIResourceSchema,
  type SchemaVersion,
} from './api-sharing.ts';

/**
 * The CustomResourceDefinition that an APIResourceSchema means, named by the uid of the schema and without
 * a status. Controllers store it, views of exports and requests by identity use it as it is.
 */
export function definitionOfSchema(schema: DeepReadonly<APIResourceSchema>): KubeObject {
  const { metadata } = schema;
  const spec = schema.spec as APIResourceSchema['spec'];
  if (spec === undefined) throw new Error(`APIResourceSchema ${metadata.name ?? ''} has no spec`);
  const { group = '', names, scope, versions, conversion, nameValidation } = spec;
  const { [clusterAnnotation]: cluster = '', [apiApprovedAnnotation]: approval } = metadata.annotations ?? {};
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: metadata.uid ?? '',
      annotations: {
        [boundDefinitionAnnotation]: '',
        [schemaClusterAnnotation]: cluster,
        [schemaNameAnnotation]: metadata.name ?? '',
        ...(approval === undefined ? {} : { [apiApprovedAnnotation]: approval }),
        ...(nameValidation === 'PathSegmentName' ? { [nameValidationAnnotation]: 'path-segment' } : {}),
      },
    },
    spec: {
      group,
      names: names as JsonObject,
      scope,
      versions: versions.map(versionOf),
      // Between one version and itself there is nothing to convert.
      ...(versions.length > 1 && conversion !== undefined ? { conversion: conversionOf(conversion) } : {}),
    },
  };
}

function versionOf(version: SchemaVersion): JsonObject {
  const { name, served, storage, deprecated, deprecationWarning, schema, subresources } = version;
  const { additionalPrinterColumns, selectableFields } = version;
  const given: Record<string, Json | undefined> = {
    name,
    served,
    storage,
    deprecated,
    deprecationWarning,
    schema: { openAPIV3Schema: schema },
    subresources,
    additionalPrinterColumns,
    selectableFields: selectableFields,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as JsonObject;
}

function conversionOf({ strategy, webhook }: { strategy: string; webhook?: JsonObject }): JsonObject {
  return webhook === undefined ? { strategy } : { strategy, webhook };
}

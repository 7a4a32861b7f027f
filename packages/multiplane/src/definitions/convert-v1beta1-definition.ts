import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';

export const v1beta1 = 'apiextensions.k8s.io/v1beta1';

const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value ?? null) ? (value as JsonObject) : {});
const objectsOf = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/**
 * Converts the spec of a `v1beta1` CustomResourceDefinition to `v1`, as the conversion of apiextensions-apiserver: common
 * fields move into each version, and schemas without pruning get `x-kubernetes-preserve-unknown-fields`.
 */
export function convertV1beta1Spec(spec: JsonObject): JsonObject {
  const { version, versions, validation, subresources, additionalPrinterColumns, conversion, ...rest } = spec;
  const prunes = rest['preserveUnknownFields'] === false;
  delete rest['preserveUnknownFields'];
  const listed = objectsOf(versions);
  const all = listed.length > 0 ? listed : [{ name: version ?? '', served: true, storage: true }];
  return {
    ...rest,
    versions: all.map((each: JsonObject) => {
      const schema = objectOf(objectOf(each['schema'] ?? validation)['openAPIV3Schema']);
      const columns = objectsOf(each['additionalPrinterColumns'] ?? additionalPrinterColumns);
      const below = each['subresources'] ?? subresources;
      return {
        ...each,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            ...schema,
            ...(prunes ? {} : { 'x-kubernetes-preserve-unknown-fields': true }),
          },
        },
        ...(below === undefined ? {} : { subresources: below }),
        ...(columns.length === 0 ? {} : { additionalPrinterColumns: columns.map(columnOf) }),
      };
    }),
    ...(conversion === undefined ? {} : { conversion: conversionOf(objectOf(conversion)) }),
  };
}

const columnOf = ({ JSONPath, ...column }: JsonObject): JsonObject =>
  JSONPath === undefined ? column : { ...column, jsonPath: JSONPath };

function conversionOf({ strategy, webhookClientConfig, conversionReviewVersions }: JsonObject): JsonObject {
  return {
    strategy: strategy ?? 'None',
    ...(webhookClientConfig === undefined
      ? {}
      : {
          webhook: {
            clientConfig: webhookClientConfig,
            conversionReviewVersions: conversionReviewVersions ?? ['v1beta1'],
          },
        }),
  };
}

import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';

export const betaVersion = 'apiextensions.k8s.io/v1beta1';

const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value ?? null) ? (value as JsonObject) : {});
const objectsOf = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/**
 * The spec of a definition of `v1beta1` as `v1` has it: what stood once for all versions stands with each of them, and a
 * schema that does not prune says so itself (K2, apiextensions conversion).
 */
export function specOfBeta(spec: JsonObject): JsonObject {
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

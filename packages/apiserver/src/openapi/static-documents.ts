import { createHash } from 'node:crypto';
import type { JsonObject } from '@multiplane/apimachinery';
import { openAPIDocument, type OpenAPIDefinitions } from '@multiplane/schema';
import { encodeDocumentV3, encodePathV3 } from './protobuf-document-v3.ts';

/** OpenAPI documents of the server's own paths, in addition to those of group versions. */
const staticPaths: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '.well-known/openid-configuration': {
    '/.well-known/openid-configuration/': 'getServiceAccountIssuerOpenIDConfiguration',
  },
  api: { '/api/': 'getCoreAPIVersions' },
  apis: { '/apis/': 'getAPIVersions' },
  'openid/v1/jwks': { '/openid/v1/jwks/': 'getServiceAccountIssuerOpenIDKeyset' },
  version: { '/version/': 'getCodeVersion' },
};

export interface StaticDocument {
  readonly bytes: Buffer;
  readonly protobuf: Buffer;
  readonly hash: string;
}

/** Documents that are equal for all logical clusters, by their path below `/openapi/v3/`. */
export function staticDocuments(definitions: OpenAPIDefinitions): ReadonlyMap<string, StaticDocument> {
  return new Map(
    Object.entries(staticPaths).map(([path, operations]) => {
      const document = documentOf(operations, definitions);
      const bytes = Buffer.from(JSON.stringify(document));
      const paths = Object.entries(document['paths'] as JsonObject).map(([url, item]) => encodePathV3(url, item));
      return [
        path,
        {
          bytes,
          protobuf: encodeDocumentV3(document, paths, []),
          hash: createHash('sha512').update(bytes).digest('hex').toUpperCase(),
        },
      ];
    }),
  );
}

function documentOf(operations: Readonly<Record<string, string>>, definitions: OpenAPIDefinitions): JsonObject {
  const paths: JsonObject = {};
  for (const [url, operationId] of Object.entries(operations)) {
    paths[url] = {
      get: {
        operationId,
        responses: {
          '200': { description: 'OK', content: { 'application/json': { schema: { type: 'object' } } } },
          '401': { description: 'Unauthorized' },
        },
      },
    };
  }
  return openAPIDocument({}, paths, definitions);
}

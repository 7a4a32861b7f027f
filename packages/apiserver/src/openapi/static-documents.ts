import { createHash } from 'node:crypto';
import type { JsonObject } from '@multiplane/apimachinery';
import { addGroupPath, openAPIDocument, type OpenAPIDefinitions } from '@multiplane/schema';
import { encodeDocumentV3, encodePathV3, encodeSchemaV3 } from './protobuf-document-v3.ts';

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

/** Paths that only servers with service accounts have. */
const issuerPaths: ReadonlySet<string> = new Set(['.well-known/openid-configuration', 'openid/v1/jwks']);

/** Documents that are equal for all logical clusters, by their path below `/openapi/v3/`. */
export function staticDocuments(
  definitions: OpenAPIDefinitions,
  issuesTokens: boolean,
): ReadonlyMap<string, StaticDocument> {
  const paths = Object.entries(staticPaths).filter(([path]) => issuesTokens || !issuerPaths.has(path));
  return new Map(paths.map(([path, operations]) => [path, staticDocument(documentOf(operations, definitions))]));
}

/** The document of the path `/apis/<group>/`, which lists the versions of a group. */
export function groupDocument(group: string, definitions: OpenAPIDefinitions): StaticDocument {
  const paths: JsonObject = {};
  addGroupPath(group, paths);
  return staticDocument(openAPIDocument({}, paths, definitions));
}

function staticDocument(document: JsonObject): StaticDocument {
  const bytes = Buffer.from(JSON.stringify(document));
  const paths = Object.entries(document['paths'] as JsonObject).map(([url, item]) => encodePathV3(url, item));
  const { schemas: components = {} } = document['components'] as JsonObject;
  const schemas = Object.entries(components as JsonObject).map(([name, schema]) => encodeSchemaV3(name, schema));
  return {
    bytes,
    protobuf: encodeDocumentV3(document, paths, schemas),
    hash: createHash('sha512').update(bytes).digest('hex').toUpperCase(),
  };
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

import { createHash } from 'node:crypto';
import type { JsonObject } from '@multiplane/apimachinery';
import { addGroupPath, openAPIDocument, type OpenAPIDefinitions } from '@multiplane/schema';
import { encodeDocumentV3, encodePathV3, encodeSchemaV3 } from './protobuf-document-v3.ts';

interface StaticPath {
  readonly operationId: string;
  readonly tag: string;
  readonly types: readonly string[];
  readonly schema: JsonObject;
}

const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/io.k8s.apimachinery.pkg.${name}` });
const metaTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
const text: JsonObject = { type: 'string' };

/** The server's own paths with a document each, in addition to those of group versions. */
const staticPaths: Readonly<Record<string, StaticPath>> = {
  '.well-known/openid-configuration': {
    operationId: 'getServiceAccountIssuerOpenIDConfiguration',
    tag: 'WellKnown',
    types: ['application/json'],
    schema: text,
  },
  api: {
    operationId: 'getCoreAPIVersions',
    tag: 'core',
    types: metaTypes,
    schema: reference('apis.meta.v1.APIVersions'),
  },
  apis: {
    operationId: 'getAPIVersions',
    tag: 'apis',
    types: metaTypes,
    schema: reference('apis.meta.v1.APIGroupList'),
  },
  'openid/v1/jwks': {
    operationId: 'getServiceAccountIssuerOpenIDKeyset',
    tag: 'openid',
    types: ['application/jwk-set+json'],
    schema: text,
  },
  version: {
    operationId: 'getCodeVersion',
    tag: 'version',
    types: ['application/json'],
    schema: reference('version.Info'),
  },
};

export interface StaticDocument {
  readonly document: JsonObject;
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
  return new Map(paths.map(([path, operation]) => [path, staticDocument(documentOf(path, operation, definitions))]));
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
    document,
    bytes,
    protobuf: encodeDocumentV3(document, paths, schemas),
    hash: createHash('sha512').update(bytes).digest('hex').toUpperCase(),
  };
}

function documentOf(
  path: string,
  { operationId, tag, types, schema }: StaticPath,
  definitions: OpenAPIDefinitions,
): JsonObject {
  const get = {
    description: 'Read what the server says of itself.',
    operationId,
    responses: {
      '200': { description: 'OK', content: Object.fromEntries(types.map((type) => [type, { schema }])) },
      '401': { description: 'Unauthorized' },
    },
    tags: [tag],
  };
  return openAPIDocument({}, { [`/${path}/`]: { get } }, definitions);
}

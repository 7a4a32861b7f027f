import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';

/** The APIResourceSchemas that an APIExport refers to. Throws a StatusError when one of them cannot be read. */
export async function readExport(
  name: string,
  { transport, pathPrefix }: { readonly transport: RestTransport; readonly pathPrefix: string },
): Promise<JsonObject[]> {
  const get = async (version: string, resource: string, object: string): Promise<JsonObject> =>
    objectOf(
      await transport.json({
        method: 'GET',
        path: `${pathPrefix}/apis/apis.kcp.io/${version}/${resource}/${encodeURIComponent(object)}`,
      }),
    );
  const { resources } = objectOf((await get('v1alpha2', 'apiexports', name))['spec']);
  const schemas = (Array.isArray(resources) ? resources : []).map((resource) => objectOf(resource)['schema']);
  // As many at the same time as the transport has connections.
  return Promise.all(
    schemas
      .filter((schema) => typeof schema === 'string')
      .map((schema) => get('v1alpha1', 'apiresourceschemas', schema)),
  );
}

const objectOf = (value: Json | undefined): JsonObject => (value !== undefined && isJsonObject(value) ? value : {});

import {
  apiVersionOf,
  encodeJson,
  type GroupVersionResource,
  type Json,
  type JsonObject,
  type KubeList,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { ObjectReference } from './lister.ts';
import type { DeleteRequestOptions, ObjectClient, PatchType, WriteRequestOptions } from './object-client.ts';
import type { RestRequest, RestTransport } from './rest-transport.ts';

interface Scope {
  readonly cluster: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** Path of a resource in a logical cluster. Every segment is encoded, so that names cannot change the path. */
export function resourcePath(resource: GroupVersionResource, scope: Scope): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${apiVersionOf(resource)}`;
  const namespace =
    scope.namespace === undefined || scope.namespace === '' ? '' : `/namespaces/${encodeURIComponent(scope.namespace)}`;
  const name = scope.name === undefined || scope.name === '' ? '' : `/${encodeURIComponent(scope.name)}`;
  const subresource = scope.subresource === undefined || scope.subresource === '' ? '' : `/${scope.subresource}`;
  return `/clusters/${encodeURIComponent(scope.cluster).replaceAll('%3A', ':')}${root}${namespace}/${resource.resource}${name}${subresource}`;
}

/** {@link ObjectClient} over HTTPS. */
export class RestClient implements ObjectClient {
  readonly #transport: RestTransport;
  readonly #pathPrefix: string;
  /** `pathPrefix` precedes `/clusters/`: the path of a virtual workspace. */
  constructor(modules: { readonly transport: RestTransport; readonly pathPrefix?: string | undefined }) {
    this.#transport = modules.transport;
    this.#pathPrefix = modules.pathPrefix ?? '';
  }

  async get(resource: GroupVersionResource, reference: ObjectReference): Promise<KubeObject> {
    return this.#object('GET', this.#path(resource, reference));
  }

  async list(
    resource: GroupVersionResource,
    scope: {
      readonly cluster: LogicalClusterName | '*';
      readonly namespace?: string | undefined;
      readonly labelSelector?: string | undefined;
    },
  ): Promise<KubeList> {
    const query = scope.labelSelector === undefined ? '' : `?labelSelector=${encodeURIComponent(scope.labelSelector)}`;
    return (await this.#transport.json({
      method: 'GET',
      path: `${this.#path(resource, scope)}${query}`,
    })) as unknown as KubeList;
  }

  async create(
    resource: GroupVersionResource,
    cluster: LogicalClusterName,
    object: KubeObject,
    options: WriteRequestOptions = {},
  ): Promise<KubeObject> {
    const path = this.#path(resource, { cluster, namespace: object.metadata.namespace });
    const { waitSeconds } = options;
    return this.#object('POST', `${path}${queryOf(options)}`, object as unknown as Json, {
      prefer: waitSeconds === undefined ? undefined : `wait=${waitSeconds}`,
    });
  }

  async update(
    resource: GroupVersionResource,
    cluster: LogicalClusterName,
    object: KubeObject,
    options: WriteRequestOptions & { readonly subresource?: string | undefined } = {},
  ): Promise<KubeObject> {
    const { namespace, name } = object.metadata;
    const path = this.#path(resource, { cluster, namespace, name, subresource: options.subresource });
    return this.#object('PUT', `${path}${queryOf(options)}`, object as unknown as Json);
  }

  async patch(
    resource: GroupVersionResource,
    reference: ObjectReference,
    type: PatchType,
    patch: JsonObject | JsonObject[],
    options: WriteRequestOptions & {
      readonly subresource?: string | undefined;
      readonly force?: boolean | undefined;
    } = {},
  ): Promise<KubeObject> {
    const path = this.#path(resource, { ...reference, subresource: options.subresource });
    return this.#object('PATCH', `${path}${queryOf(options, options.force === true)}`, patch, { contentType: type });
  }

  async delete(
    resource: GroupVersionResource,
    reference: ObjectReference,
    options: DeleteRequestOptions = {},
  ): Promise<void> {
    await this.#transport.json({
      method: 'DELETE',
      path: this.#path(resource, reference),
      body: deleteBody(options),
    });
  }

  async deleteCollection(
    resource: GroupVersionResource,
    scope: { readonly cluster: LogicalClusterName; readonly namespace?: string | undefined },
    options: DeleteRequestOptions = {},
  ): Promise<void> {
    await this.#transport.json({ method: 'DELETE', path: this.#path(resource, scope), body: deleteBody(options) });
  }

  #path(resource: GroupVersionResource, scope: Scope): string {
    return this.#pathPrefix + resourcePath(resource, scope);
  }

  async #object(
    method: string,
    path: string,
    body?: Json,
    headers: Pick<RestRequest, 'contentType' | 'prefer'> = {},
  ): Promise<KubeObject> {
    const answer = await this.#transport.json({
      ...headers,
      method,
      path,
      body: body === undefined ? undefined : encodeJson(body),
    });
    return answer as unknown as KubeObject;
  }
}

function queryOf(options: WriteRequestOptions, force = false): string {
  const query = new URLSearchParams();
  if (options.fieldManager !== undefined) query.set('fieldManager', options.fieldManager);
  if (options.dryRun === true) query.set('dryRun', 'All');
  if (force) query.set('force', 'true');
  return query.size === 0 ? '' : `?${query.toString()}`;
}

function deleteBody({ propagationPolicy, preconditions }: DeleteRequestOptions): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(preconditions === undefined ? {} : { preconditions }),
  });
}

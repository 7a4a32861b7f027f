import { parseLabelSelector, statusErrors, type JsonObject, type UserInfo } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { writeBytes, type ResourceRequest } from '@multiplane/apiserver';
import type { ServedResource } from './api-set.ts';
import type { BufferedAnswer } from './buffered-exchange.ts';
import { writeThrough, type UpdateRule } from './forwarded-write.ts';
import { objectOf, request as send, type Onward, type ShardConnection } from './shard-connection.ts';

export interface ForwardedResourceOptions {
  /** What is served: its verbs and subresources are all there is. */
  readonly definition: ResourceDefinition;
  /** Its name at the shard, where that differs: `<resource>:<identity>`. */
  readonly upstreamResource?: string | undefined;
  /** Only objects with these labels exist in the view: a label selector. */
  readonly labelSelector?: string | undefined;
  /** Of those, only objects of which this holds can be read and written by name. */
  readonly holds?: ((object: JsonObject) => boolean) | undefined;
  /** Refuses an update of an object or a subresource by throwing. */
  readonly mayUpdate?: UpdateRule | undefined;
  /** In whose name the shard is asked; absent: in that of the caller. */
  readonly actingAs?: ((caller: UserInfo) => UserInfo) | undefined;
}

/**
 * A resource whose objects are the shard's (C8.1 "forwarding storage"): the shard does all of the work, negotiation,
 * tables, patches, admission; a view says which objects there are and which writes are allowed.
 *
 * - LIST and WATCH get the view's labels as a selector; the shard's bytes pass through untouched.
 * - Reads by name look at the object first, and so does every write: what is not in the view does not exist.
 * - An update is tried (`dryRun`) before it is made, so that the rule sees what would be stored, whatever kind of patch
 *   the client sent; the write itself is then tied to the version that was looked at.
 */
export class ForwardedResource implements ServedResource {
  readonly definition: ResourceDefinition;
  readonly #options: ForwardedResourceOptions;
  readonly #connection: ShardConnection;
  readonly #selector: ReturnType<typeof parseLabelSelector> | undefined;

  constructor(options: ForwardedResourceOptions, modules: { readonly connection: ShardConnection }) {
    this.definition = options.definition;
    this.#options = options;
    this.#connection = modules.connection;
    this.#selector = options.labelSelector === undefined ? undefined : parseLabelSelector(options.labelSelector);
  }

  async handle(request: ResourceRequest): Promise<void> {
    const { context, cluster } = request;
    const { verb } = context.info;
    if (verb === 'list' || verb === 'watch' || verb === 'deletecollection') {
      if (cluster === '*' && (request.namespace !== '' || verb === 'deletecollection'))
        throw request.namespace === ''
          ? statusErrors.methodNotAllowed(verb, this.definition)
          : statusErrors.badRequest(
              `cross-cluster LIST and WATCH are required to be cross-namespace, not scoped to namespace ${request.namespace}`,
            );
      await this.#forward(request, this.#queryOf(request));
      return;
    }
    if (cluster === '*') throw statusErrors.unknownResource();
    if (verb === 'create') {
      await this.#forward(request, context.info.query);
      return;
    }
    if (verb === 'update' || verb === 'patch') {
      const { mayUpdate } = this.#options;
      if (mayUpdate !== undefined) {
        await writeThrough(request, {
          current: async () => this.#current(request),
          send: (what, query) =>
            send(this.#connection, context.exchange, this.#onward(request, query, request.subresource), what),
          mayUpdate,
        });
        return;
      }
    }
    const answer = await this.#look(request);
    this.#requireInView(request, objectOf(answer));
    if (verb === 'get' && request.subresource === '' && takesPlainJson(context.exchange.headers['accept'])) {
      writeBytes(context, 200, 'application/json', answer.body);
      return;
    }
    await this.#forward(request, context.info.query);
  }

  #forward(request: ResourceRequest, query: URLSearchParams): Promise<void> {
    const { context } = request;
    const longRunning = context.info.verb === 'watch';
    return this.#connection.forward(context.exchange, {
      ...this.#onward(request, query, request.subresource),
      longRunning,
    });
  }

  /** The object itself; not of a subresource: the view is about objects. */
  #look(request: ResourceRequest): Promise<BufferedAnswer> {
    const onward = this.#onward(request, new URLSearchParams(), '');
    return send(this.#connection, request.context.exchange, onward, {
      method: 'GET',
      headers: { accept: 'application/json' },
    });
  }

  async #current(request: ResourceRequest): Promise<JsonObject> {
    const object = objectOf(await this.#look(request));
    this.#requireInView(request, object);
    return object;
  }

  #requireInView(request: ResourceRequest, object: JsonObject): void {
    const { labels } = object['metadata'] as { labels?: Record<string, string> };
    const fits = this.#selector === undefined || this.#selector.matches(labels ?? {});
    if (fits && (this.#options.holds === undefined || this.#options.holds(object))) return;
    throw statusErrors.notFound(this.definition, request.name);
  }

  /** The query of the client with the labels of the view among its own. */
  #queryOf({ context }: ResourceRequest): URLSearchParams {
    const { info } = context;
    const query = new URLSearchParams(info.query);
    const { labelSelector } = this.#options;
    if (labelSelector !== undefined) {
      const own = query.get('labelSelector') ?? '';
      query.set('labelSelector', own === '' ? labelSelector : `${own},${labelSelector}`);
    }
    if (info.verb === 'watch') query.set('watch', 'true');
    return query;
  }

  #onward(request: ResourceRequest, query: URLSearchParams, subresource: string): Onward {
    const { group, version, resource } = this.definition;
    const { actingAs, upstreamResource = resource } = this.#options;
    const caller = request.context.user;
    const parts = [
      ...(group === '' ? ['api', version] : ['apis', group, version]),
      ...(request.namespace === '' ? [] : ['namespaces', request.namespace]),
      upstreamResource,
      ...(request.name === '' ? [] : [request.name]),
      ...(subresource === '' ? [] : [subresource]),
    ];
    const path = parts.map((part) => encodeURIComponent(part).replaceAll('%3A', ':')).join('/');
    const tail = query.size === 0 ? '' : `?${query.toString()}`;
    return {
      url: `/clusters/${request.cluster}/${path}${tail}`,
      user: actingAs === undefined ? caller : actingAs(caller),
    };
  }
}

/** True where the JSON that was read anyway is what the client asked for. */
function takesPlainJson(accept: string | readonly string[] | undefined): boolean {
  return accept === undefined || accept === '*/*' || accept === 'application/json';
}

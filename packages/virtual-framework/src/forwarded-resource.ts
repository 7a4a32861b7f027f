import {
  encodeJson,
  errorText,
  isJsonObject,
  parseJson,
  parseLabelSelector,
  parseYaml,
  statusErrors,
  type JsonObject,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { writeBytes, type ResourceRequest } from '@multiplane/apiserver';
import type { ServedResource } from './api-set.ts';
import type { BufferedAnswer, BufferedRequest } from './buffered-exchange.ts';
import { EndingExchange } from './ending-exchange.ts';
import { isApplied, writeThrough, type UpdateRule } from './forwarded-write.ts';
import { objectOf, request as send, type Onward, type ShardConnection } from './shard-connection.ts';

/** What a view asks of the objects that are written through it; decided anew for each request. */
export interface WriteRules {
  /** The object with what must be in it; throws a StatusError when something else stands there. */
  complete(object: JsonObject): JsonObject;
  /** Throws a StatusError unless the object may be written, or deleted. */
  require(object: JsonObject): void;
}

export interface ForwardedResourceOptions {
  /** What is served: its verbs and subresources are all there is. */
  readonly definition: ResourceDefinition;
  /** Its name at the shard, where that differs: `<resource>:<identity>`. */
  readonly upstreamResource?: string | undefined;
  /** Only objects with these labels exist in the view: a label selector, or what a request has for one. */
  readonly labelSelector?: string | ((request: ResourceRequest) => string | undefined) | undefined;
  /** Of those, only objects of which this holds can be read and written by name. */
  readonly holds?: ((object: JsonObject) => boolean) | undefined;
  /** Refuses an update of an object or a subresource by throwing. */
  readonly mayUpdate?: UpdateRule | undefined;
  /** What holds for creates, updates and deletes of whole objects; undefined for a request without any. */
  readonly rulesFor?: ((request: ResourceRequest) => Promise<WriteRules | undefined>) | undefined;
  /** Called when a configuration is applied to nothing: that creates it. Throws to refuse. */
  readonly mayCreate?: ((request: ResourceRequest) => Promise<void>) | undefined;
  /**
   * In whose name the shard is asked; absent: in that of the caller. Undefined as the answer: in the name of this server,
   * which may do everything.
   */
  readonly actingAs?: ((caller: UserInfo, cluster: LogicalClusterName | '*') => UserInfo | undefined) | undefined;
  /** Ends the watches of this resource when it is no longer served, or served otherwise. */
  readonly retired?: AbortSignal | undefined;
}

const maxBodyBytes = 3 * 1024 * 1024;

/**
 * A resource whose objects are the shard's (C8.1 "forwarding storage"): the shard does all of the work, negotiation,
 * tables, patches, admission; a view says which objects there are and which writes are allowed.
 *
 * - LIST and WATCH get the view's labels as a selector; the shard's bytes pass through untouched. One object is listed or
 *   watched by its name as a field: paths with a name would be reads, which no selector holds for.
 * - Where not every object is in the view, reads by name look at the object first, and so does every write: what is not
 *   in the view does not exist.
 * - An update under rules is tried (`dryRun`) before it is made, so that the rule sees what would be stored, whatever kind
 *   of patch the client sent; the write itself is then tied to the version that was looked at.
 */
export class ForwardedResource implements ServedResource {
  readonly definition: ResourceDefinition;
  readonly #options: ForwardedResourceOptions;
  readonly #connection: ShardConnection;

  constructor(options: ForwardedResourceOptions, modules: { readonly connection: ShardConnection }) {
    this.definition = options.definition;
    this.#options = options;
    this.#connection = modules.connection;
  }

  async handle(request: ResourceRequest): Promise<void> {
    const { context, cluster } = request;
    const { verb } = context.info;
    if (verb === 'list' || verb === 'watch' || verb === 'deletecollection') {
      if (cluster === '*' && (request.namespace !== '' || verb === 'deletecollection'))
        throw request.namespace === ''
          ? statusErrors.methodNotAllowed(verb, this.definition)
          : statusErrors.untyped(
              `cross-cluster LIST and WATCH are required to be cross-namespace, not scoped to namespace ${request.namespace}`,
              400,
            );
      await this.#forward({ ...request, name: '' }, this.#queryOf(request));
      return;
    }
    if (cluster === '*') throw statusErrors.unknownResource();
    const rules = request.subresource === '' && verb !== 'get' ? await this.#options.rulesFor?.(request) : undefined;
    if (verb === 'create') return this.#create(request, rules);
    if (verb === 'update' || verb === 'patch') return this.#update(request, rules);
    if (this.#showsAll(request) && rules === undefined) return this.#forward(request, context.info.query);
    const answer = await this.#look(request);
    const object = objectOf(answer);
    if (verb === 'delete') rules?.require(object);
    this.#requireInView(request, object);
    if (verb === 'get' && request.subresource === '' && takesPlainJson(context.exchange.headers['accept'])) {
      writeBytes(context, 200, 'application/json', answer.body);
      return;
    }
    await this.#forward(request, context.info.query);
  }

  async #create(request: ResourceRequest, rules: WriteRules | undefined): Promise<void> {
    const { exchange, info } = request.context;
    if (rules === undefined) return this.#forward(request, info.query);
    const object = await this.#sentObject(request);
    const completed = rules.complete(object);
    rules.require(completed);
    const { status, headers, body } = await this.#send(request, info.query, {
      method: 'POST',
      headers: {
        ...programOf(request),
        accept: textOf(exchange.headers['accept']),
        'content-type': 'application/json',
      },
      body: encodeJson(completed),
    });
    for (const name of ['content-type', 'warning']) {
      const value = headers.get(name);
      if (value !== undefined) exchange.setHeader(name, value);
    }
    exchange.respond(status, body);
  }

  /** The object of a create. What is sent in protobuf is read by the shard: what it would store, without what it adds. */
  async #sentObject(request: ResourceRequest): Promise<JsonObject> {
    const { exchange, info } = request.context;
    const type = textOf(exchange.headers['content-type']) ?? 'application/json';
    const body = await exchange.readBody(maxBodyBytes);
    if (!type.startsWith('application/vnd.kubernetes.protobuf')) return parsed(body, type);
    const query = new URLSearchParams(info.query);
    query.set('dryRun', 'All');
    const object = objectOf(
      await this.#send(request, query, {
        method: 'POST',
        headers: { ...programOf(request), accept: 'application/json', 'content-type': type },
        body,
      }),
    );
    const metadata = { ...(object['metadata'] as JsonObject) };
    for (const name of ['uid', 'resourceVersion', 'creationTimestamp', 'generation', 'managedFields'])
      delete metadata[name];
    return { ...object, metadata };
  }

  async #update(request: ResourceRequest, rules: WriteRules | undefined): Promise<void> {
    const { context } = request;
    const { mayUpdate } = this.#options;
    if (rules === undefined && mayUpdate === undefined) {
      if (this.#showsAll(request)) await this.#allowApply(request);
      else await this.#requireExisting(request);
      return this.#forward(request, context.info.query);
    }
    await writeThrough(request, {
      current: () => this.#current(request),
      send: (what, query) => this.#send(request, query, what),
      mayUpdate: (change) => {
        const stored = mayUpdate?.(change) ?? change.updated;
        if (rules === undefined) return stored;
        const completed = rules.complete(stored);
        rules.require(completed);
        return completed;
      },
      ...(rules === undefined
        ? {}
        : {
            completeConfig: (config) => rules.complete(config),
            mayCreate: async () => this.#options.mayCreate?.(request),
          }),
    });
  }

  /** Whoever may not create may apply to what is there; only then somebody has to look. */
  async #allowApply(request: ResourceRequest): Promise<void> {
    const { mayCreate } = this.#options;
    if (mayCreate === undefined || !isApplied(request) || request.subresource !== '') return;
    try {
      await mayCreate(request);
    } catch (refusal) {
      if ((await this.#look(request)).status === 404) throw refusal;
    }
  }

  /** Throws unless the object is in the view, or may be made by what is applied to it. */
  async #requireExisting(request: ResourceRequest): Promise<void> {
    const answer = await this.#look(request);
    if (answer.status !== 404 || !isApplied(request) || request.subresource !== '')
      this.#requireInView(request, objectOf(answer));
    else await this.#options.mayCreate?.(request);
  }

  async #forward(request: ResourceRequest, query: URLSearchParams): Promise<void> {
    const { context } = request;
    const { retired } = this.#options;
    const onward = this.#onward(request, query, request.subresource);
    if (context.info.verb !== 'watch') return this.#connection.forward(context.exchange, onward);
    if (retired === undefined) return this.#connection.forward(context.exchange, { ...onward, longRunning: true });
    const exchange = new EndingExchange(context.exchange, retired);
    try {
      await this.#connection.forward(exchange, { ...onward, longRunning: true });
    } finally {
      exchange.release();
    }
  }

  #send(request: ResourceRequest, query: URLSearchParams, what: BufferedRequest): Promise<BufferedAnswer> {
    const { exchange } = request.context;
    return send(this.#connection, exchange, this.#onward(request, query, request.subresource), what);
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

  #showsAll(request: ResourceRequest): boolean {
    return this.#selectorOf(request) === undefined && this.#options.holds === undefined;
  }

  #selectorOf(request: ResourceRequest): string | undefined {
    const { labelSelector } = this.#options;
    return typeof labelSelector === 'function' ? labelSelector(request) : labelSelector;
  }

  #requireInView(request: ResourceRequest, object: JsonObject): void {
    const { labels } = object['metadata'] as { labels?: Record<string, string> };
    const selector = this.#selectorOf(request);
    const fits = selector === undefined || parseLabelSelector(selector).matches(labels ?? {});
    if (fits && (this.#options.holds === undefined || this.#options.holds(object))) return;
    throw statusErrors.notFound(this.definition, request.name);
  }

  /** The query of the client with the labels of the view before its own, so that none of its text can swallow them. */
  #queryOf(request: ResourceRequest): URLSearchParams {
    const { info } = request.context;
    const query = new URLSearchParams(info.query);
    const labelSelector = this.#selectorOf(request);
    if (labelSelector !== undefined) prepend(query, 'labelSelector', labelSelector);
    if (request.name !== '') prepend(query, 'fieldSelector', `metadata.name=${request.name}`);
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
      user: actingAs === undefined ? caller : actingAs(caller, request.cluster),
    };
  }
}

function prepend(query: URLSearchParams, name: string, text: string): void {
  const own = query.get(name) ?? '';
  query.set(name, own === '' ? text : `${text},${own}`);
}

function parsed(body: Buffer, type: string): JsonObject {
  let object: unknown;
  try {
    object = type.startsWith('application/yaml') ? parseYaml(body) : parseJson(body.toString());
  } catch (error) {
    throw statusErrors.badRequest(`the object provided cannot be read: ${errorText(error)}`, error);
  }
  if (!isJsonObject(object)) throw statusErrors.badRequest('the object provided is no object');
  return object;
}

/** The program behind a request: it is named as the manager of the fields. */
const programOf = ({ context: { exchange } }: ResourceRequest): { 'user-agent': string | undefined } => ({
  'user-agent': textOf(exchange.headers['user-agent']),
});
const textOf = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : value?.[0];

/** True where the JSON that was read anyway is what the client asked for. */
function takesPlainJson(accept: string | readonly string[] | undefined): boolean {
  return accept === undefined || accept === '*/*' || accept === 'application/json';
}

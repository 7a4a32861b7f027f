import {
  errorText,
  isJsonObject,
  isStatusError,
  parseLabelSelector,
  statusErrors,
  type JsonObject,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import {
  type BodyDecoder,
  requiredFieldsParameter,
  requiredLabelsParameter,
  type ResourceRequest,
  type VirtualView,
  virtualViewParameter,
} from '@multiplane/apiserver';
import {
  acceptHeader,
  CancellableExchange,
  type BufferedRequest,
  type BufferedResponse,
  type Exchange,
} from '@multiplane/generic-server';
import type { ServedResource } from './api-set.ts';
import { checkRequest } from './request-checks.ts';
import { isApplyRequest, forwardWrite, type UpdateRule } from './forwarded-write.ts';
import { encodeJsonBody, parseJsonBody, parseYamlBody } from './request-bodies.ts';
import { WatchErrorExchange } from './watch-error-exchange.ts';
import {
  writtenObjectOf,
  sendRequest as send,
  type UpstreamRequest,
  type ShardConnection,
} from './shard-connection.ts';

/** Rules for the objects that are written through a virtual workspace, computed for each request. */
export interface WriteRules {
  /** Returns the object with required fields added; throws a StatusError when it has other values there. */
  mutate(object: JsonObject): JsonObject;
  /** Throws a StatusError unless the object may be written or deleted. */
  validate(object: JsonObject): void;
}

export interface ForwardedResourceOptions {
  /** The served definition; other verbs and subresources are not served. */
  readonly definition: ResourceDefinition;
  /** The resource name at the shard if it differs: `<resource>:<identity>`. */
  readonly upstreamResource?: string | undefined;
  /** Only objects that match this label selector are visible, or the selector for a request. */
  readonly labelSelector?: string | ((request: ResourceRequest) => string | undefined) | undefined;
  /** Only objects whose stored fields match this field selector are visible; the shard decides (`requiredFields`). */
  readonly requiredFields?: string | undefined;
  /** Restricts reads and writes by name further: objects for which it returns false do not exist. */
  readonly isVisible?: ((object: JsonObject) => boolean) | undefined;
  /** Validates an update of an object or a subresource. */
  readonly updateRule?: UpdateRule | undefined;
  /** What of `updateRule` comes before the errors of the shard about the object, such as those of its schema. */
  readonly earlyUpdateRule?: UpdateRule | undefined;
  /** Rules for creates, updates and deletes of whole objects; undefined when the request has none. */
  readonly writeRulesFor?: ((request: ResourceRequest) => Promise<WriteRules | undefined>) | undefined;
  /** Authorizes a server-side apply that creates its object; throws a StatusError to deny it. */
  readonly authorizeCreate?: ((request: ResourceRequest) => Promise<void>) | undefined;
  /**
   * The user that a request is forwarded as; absent: the caller. If it returns undefined, the request is forwarded with
   * this server's own identity, which is a member of system:masters.
   */
  readonly upstreamUser?: ((caller: UserInfo, cluster: LogicalClusterName | '*') => UserInfo | undefined) | undefined;
  /** Where the shard's response to a forwarded request goes, which may drop parts of it; absent: to the client. */
  readonly responseFilter?: ((request: ResourceRequest) => Exchange | undefined) | undefined;
  /** False: requests that end here are checked without the schema of the definition, which only the shard applies. */
  readonly hasSchema?: boolean | undefined;
  /** Tables have the name only: the APIResourceSchema declares no columns. */
  readonly hasNameColumnOnly?: boolean | undefined;
  /**
   * Aborts when the resource is no longer served, or its definition changed; this ends its watches, with the reason as the last
   * event if it is a StatusError.
   */
  readonly retired?: AbortSignal | undefined;
}

export interface ForwardedResourceModules {
  readonly connection: ShardConnection;
  /** Decodes the bodies of writes that end here; absent: they are refused unread. */
  readonly decoder?: BodyDecoder | undefined;
}

const maxBodyBytes = 3 * 1024 * 1024;

/**
 * A resource whose objects the shard stores (kcp: pkg/virtual/framework/forwardingregistry). The shard handles
 * negotiation, tables, patches and admission; the virtual workspace restricts which objects are visible and which
 * writes are allowed.
 *
 * - LIST and WATCH add the label selector; the shard's bytes are streamed unchanged. A request for one name becomes a
 *   field selector, because a read by path would ignore the label selector.
 * - Where a selector applies, a read by name carries it as `requiredLabels`: the shard checks the state that it returns. Writes
 *   by name, and reads under `isVisible`, fetch the object first. An object that does not match is reported as not found.
 * - An update under rules is sent with `dryRun` first, so that the rule sees the object that would be stored, whatever
 *   the patch type; the write itself is then conditional on the resource version that the rule saw.
 */
export class ForwardedResource implements ServedResource {
  readonly definition: ResourceDefinition;
  readonly #options: ForwardedResourceOptions;
  readonly #connection: ShardConnection;
  readonly #decoder: BodyDecoder | undefined;

  constructor(options: ForwardedResourceOptions, modules: ForwardedResourceModules) {
    this.definition = options.definition;
    this.#options = options;
    this.#connection = modules.connection;
    this.#decoder = modules.decoder;
  }

  async handle(request: ResourceRequest): Promise<void> {
    const { context, cluster } = request;
    const { verb } = context.info;
    if (verb === 'list' || verb === 'watch' || verb === 'deletecollection') {
      if (cluster === '*') await this.#checkCollectionOfAll(request);
      await this.#forward({ ...request, name: '' }, this.#queryOf(request));
      return;
    }
    if (cluster === '*') {
      await this.#checkRequest(request);
      // A patch finds no object to change; for other verbs kcp shows what its shard answers to such a path.
      throw verb === 'patch'
        ? statusErrors.notFound(this.definition, request.name)
        : statusErrors.unknownUpstreamPath();
    }
    const rules =
      request.subresource === '' && verb !== 'get' ? await this.#options.writeRulesFor?.(request) : undefined;
    if (verb === 'create') return this.#create(request, rules);
    if (verb === 'update' || verb === 'patch') return this.#update(request, rules);
    if (this.#isUnrestricted(request) && rules === undefined)
      return this.#forward(request, verb === 'get' ? this.#readQueryOf(request) : context.info.query);
    if (verb !== 'get' || this.#options.isVisible !== undefined) {
      const object = await writtenObjectOf(await this.#fetch(request), request.context);
      // Before the object counts as missing: as in kcp, a refusal says what it lacks.
      if (verb === 'delete') rules?.validate(object);
      await this.#requireVisible(request, object);
    }
    await this.#forward(request, verb === 'get' ? this.#readQueryOf(request) : context.info.query);
  }

  async #create(named: ResourceRequest, rules: WriteRules | undefined): Promise<void> {
    // As for custom resources, a name in the path is ignored: the object has its own.
    const request = named.subresource === '' ? { ...named, name: '' } : named;
    const { exchange, info } = request.context;
    if (rules === undefined) return this.#forward(request, info.query);
    const { object, bytes } = await this.#decodeObject(request, named.name !== '');
    const mutated = rules.mutate(object);
    rules.validate(mutated);
    const { status, headers, body } = await this.#send(request, info.query, {
      method: 'POST',
      headers: {
        ...userAgentOf(request),
        accept: firstValue(exchange.headers['accept']),
        'content-type': 'application/json',
      },
      body: await encodeJsonBody(mutated, bytes, request.context),
    });
    for (const name of ['content-type', 'warning']) {
      const value = headers.get(name);
      if (value !== undefined) exchange.setHeader(name, value);
    }
    exchange.respond(status, body);
  }

  /**
   * The object of a create. A protobuf body is decoded by the shard: a dry-run create, without the fields that a create
   * sets. Below the name of an object, where the shard serves no creates of built-in kinds, a body must name its kind.
   */
  async #decodeObject(
    request: ResourceRequest,
    isNamed: boolean,
  ): Promise<{ readonly object: JsonObject; readonly bytes: number }> {
    const { exchange, info } = request.context;
    const type = firstValue(exchange.headers['content-type']) ?? 'application/json';
    const body = await exchange.readBody(maxBodyBytes);
    if (!type.startsWith('application/vnd.kubernetes.protobuf')) {
      if (isNamed) await this.#checkRequest(request, body);
      return { object: await parseObject(body, type, request.context, this.#decoder), bytes: body.length };
    }
    const query = new URLSearchParams(info.query);
    query.set('dryRun', 'All');
    const object = await writtenObjectOf(
      await this.#send(request, query, {
        method: 'POST',
        headers: { ...userAgentOf(request), accept: 'application/json', 'content-type': type },
        body,
      }),
      request.context,
    );
    const metadata = { ...(object['metadata'] as JsonObject) };
    for (const name of ['uid', 'resourceVersion', 'creationTimestamp', 'generation', 'managedFields'])
      delete metadata[name];
    return { object: { ...object, metadata }, bytes: body.length };
  }

  async #update(request: ResourceRequest, rules: WriteRules | undefined): Promise<void> {
    const { context } = request;
    const { updateRule } = this.#options;
    if (rules === undefined && updateRule === undefined) {
      if (this.#isUnrestricted(request)) await this.#authorizeApply(request);
      else await this.#requireExisting(request);
      return this.#forward(request, context.info.query);
    }
    await forwardWrite(request, {
      decoder: this.#decoder,
      fetchVisible: (sent) => this.#fetchVisible(request, sent),
      send: (buffered, query) => this.#send(request, query, buffered),
      earlyUpdateRule: this.#options.earlyUpdateRule,
      updateRule: (change) => {
        const stored = updateRule?.(change) ?? change.updated;
        if (rules === undefined) return stored;
        const mutated = rules.mutate(stored);
        rules.validate(mutated);
        return mutated;
      },
      ...(rules === undefined
        ? {}
        : {
            mutateConfiguration: (config) => rules.mutate(config),
            authorizeCreate: async () => this.#options.authorizeCreate?.(request),
          }),
    });
  }

  /**
   * An apply to an existing object needs no permission to create, so the object is only fetched when creation is
   * denied.
   */
  async #authorizeApply(request: ResourceRequest): Promise<void> {
    const { authorizeCreate } = this.#options;
    if (authorizeCreate === undefined || !isApplyRequest(request) || request.subresource !== '') return;
    try {
      await authorizeCreate(request);
    } catch (refusal) {
      if ((await this.#fetch(request)).status === 404) throw refusal;
    }
  }

  /** Throws unless the object is visible, or the request is an apply that may create it. */
  async #requireExisting(request: ResourceRequest): Promise<void> {
    const response = await this.#fetch(request);
    if (response.status === 404) await this.#checkRequest(request);
    if (response.status !== 404 || !isApplyRequest(request) || request.subresource !== '')
      await this.#requireVisible(request, await writtenObjectOf(response, request.context));
    else await this.#options.authorizeCreate?.(request);
  }

  async #forward(request: ResourceRequest, query: URLSearchParams): Promise<void> {
    const { context } = request;
    const { retired, responseFilter } = this.#options;
    const upstream = this.#upstreamRequest(request, query, request.subresource);
    const target = responseFilter?.(request) ?? context.exchange;
    if (context.info.verb !== 'watch') return this.#connection.forward(target, upstream);
    const exchange =
      retired === undefined
        ? new CancellableExchange(target, context.signal)
        : new CancellableExchange(new WatchErrorExchange(target, retired), context.signal, retired);
    try {
      await this.#connection.forward(exchange, { ...upstream, longRunning: true });
    } finally {
      exchange.release();
    }
  }

  #send(request: ResourceRequest, query: URLSearchParams, buffered: BufferedRequest): Promise<BufferedResponse> {
    const { exchange } = request.context;
    return send(this.#connection, exchange, this.#upstreamRequest(request, query, request.subresource), buffered);
  }

  /** Fetches the object itself, also for subresources: visibility depends on the object. */
  #fetch(request: ResourceRequest): Promise<BufferedResponse> {
    const query = new URLSearchParams();
    this.#requireFields(query);
    const upstream = this.#upstreamRequest(request, query, '');
    return send(this.#connection, request.context.exchange, upstream, {
      method: 'GET',
      headers: { accept: 'application/json' },
    });
  }

  async #fetchVisible(request: ResourceRequest, sent: Buffer): Promise<JsonObject> {
    const response = await this.#fetch(request);
    if (response.status === 404) await this.#checkRequest(request, sent);
    const object = await writtenObjectOf(response, request.context);
    await this.#requireVisible(request, object, sent);
    return object;
  }

  async #checkRequest(request: ResourceRequest, body?: Buffer): Promise<void> {
    if (this.#decoder === undefined) return;
    const { hasSchema } = this.#options;
    await checkRequest({ ...request, definition: this.definition }, this.#decoder, { hasSchema, body });
  }

  #isUnrestricted(request: ResourceRequest): boolean {
    const { isVisible, requiredFields } = this.#options;
    return this.#selectorOf(request) === undefined && isVisible === undefined && requiredFields === undefined;
  }

  #selectorOf(request: ResourceRequest): string | undefined {
    const { labelSelector } = this.#options;
    return typeof labelSelector === 'function' ? labelSelector(request) : labelSelector;
  }

  async #requireVisible(request: ResourceRequest, object: JsonObject, sent?: Buffer): Promise<void> {
    const { labels } = object['metadata'] as { labels?: Record<string, string> };
    const selector = this.#selectorOf(request);
    const fits = selector === undefined || parseLabelSelector(selector).matches(labels ?? {});
    if (fits && (this.#options.isVisible === undefined || this.#options.isVisible(object))) return;
    await this.#checkRequest(request, sent);
    throw statusErrors.notFound(this.definition, request.name);
  }

  /** Throws where a request for all logical clusters names a namespace or deletes; the options of the request come first. */
  async #checkCollectionOfAll(request: ResourceRequest): Promise<void> {
    const { namespace, context } = request;
    const { verb } = context.info;
    const isDelete = verb === 'deletecollection';
    if (namespace === '') {
      if (isDelete) throw statusErrors.methodNotAllowed(verb, this.definition);
      return;
    }
    await this.#checkRequest(request);
    if (isDelete) throw statusErrors.unknownUpstreamPath();
    throw statusErrors.untyped(
      `cross-cluster LIST and WATCH are required to be cross-namespace, not scoped to namespace ${namespace}`,
      400,
    );
  }

  /** The client's query with the label selector prepended, so that no text of the client's selector can swallow it. */
  #queryOf(request: ResourceRequest): URLSearchParams {
    const { info } = request.context;
    const query = new URLSearchParams(info.query);
    const labelSelector = this.#selectorOf(request);
    if (labelSelector !== undefined) prepend(query, 'labelSelector', labelSelector);
    if (request.name !== '') prepend(query, 'fieldSelector', `metadata.name=${request.name}`);
    if (info.verb === 'watch') query.set('watch', 'true');
    this.#requireFields(query);
    this.#addView(request, query);
    return query;
  }

  /** The client's query of a read by name with the label selector. */
  #readQueryOf(request: ResourceRequest): URLSearchParams {
    const query = new URLSearchParams(request.context.info.query);
    const labelSelector = this.#selectorOf(request);
    if (labelSelector !== undefined) query.set(requiredLabelsParameter, labelSelector);
    this.#requireFields(query);
    this.#addView(request, query);
    return query;
  }

  /** Replaces what the client sent: the parameter is this server's. */
  #requireFields(query: URLSearchParams): void {
    const { requiredFields } = this.#options;
    if (requiredFields !== undefined) query.set(requiredFieldsParameter, requiredFields);
  }

  /** Asks the shard for what a virtual workspace shows; other responses are the same for both. */
  #addView({ context: { info, exchange } }: ResourceRequest, query: URLSearchParams): void {
    const views: VirtualView[] = [];
    const isTable = /as=Table/i.test(acceptHeader(exchange.headers));
    if (isTable && this.#options.hasNameColumnOnly === true) views.push('nameColumn');
    if (info.verb === 'list' && !isTable && this.definition.origin === 'built-in') views.push('kinds');
    if (views.length > 0) query.set(virtualViewParameter, views.join(','));
  }

  #upstreamRequest(request: ResourceRequest, query: URLSearchParams, subresource: string): UpstreamRequest {
    const { group, version, resource } = this.definition;
    const { upstreamUser, upstreamResource = resource } = this.#options;
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
      user: upstreamUser === undefined ? caller : upstreamUser(caller, request.cluster),
    };
  }
}

function prepend(query: URLSearchParams, name: string, text: string): void {
  const own = query.get(name) ?? '';
  query.set(name, own === '' ? text : `${text},${own}`);
}

async function parseObject(
  body: Buffer,
  type: string,
  context: ResourceRequest['context'],
  decoder: BodyDecoder | undefined,
): Promise<JsonObject> {
  let object: unknown;
  try {
    object = type.startsWith('application/yaml')
      ? await parseYamlBody(body, context, decoder)
      : await parseJsonBody(body, context);
  } catch (error) {
    if (isStatusError(error) || context.signal.aborted) throw error;
    throw statusErrors.badRequest(`the object provided cannot be decoded: ${errorText(error)}`, error);
  }
  if (!isJsonObject(object)) throw statusErrors.badRequest('the object provided is not a JSON object');
  return object;
}

/** The user agent, from which the shard derives the default field manager. */
const userAgentOf = ({ context: { exchange } }: ResourceRequest): { 'user-agent': string | undefined } => ({
  'user-agent': firstValue(exchange.headers['user-agent']),
});
const firstValue = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : value?.[0];

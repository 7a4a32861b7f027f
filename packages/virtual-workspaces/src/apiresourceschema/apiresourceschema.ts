import {
  decodeListOptions,
  isLogicalClusterName,
  parseJson,
  StatusError,
  statusErrors,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiResourceSchemas,
  kcpResources,
  type APIExport,
  type APIResourceSchema,
  type ResourceDefinition,
} from '@multiplane/apis';
import {
  AnonymisedReasons,
  AuditedStep,
  encodeObject,
  endpointKinds,
  negotiate,
  writeBytes,
  type AuthorizationAttributes,
  type AuthorizationResult,
  type EndpointKind,
  type Exchange,
  type RequestContext,
  type RequestPath,
  type ResourceRequest,
} from '@multiplane/apiserver';
import type { Informer } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import {
  ApiSet,
  parseServicePath,
  type AccessReviewer,
  type ApiSetHandler,
  type VirtualPath,
  type VirtualWorkspace,
} from '@multiplane/virtual-framework';
import type { BindingList, ConsumerBindings } from '../consumer-bindings.ts';
import { syncOf } from '../informer-sync.ts';
import { boundSchemas, exportClustersOf, type BoundSchema } from './bound-schemas.ts';
import { SchemaChanges } from './schema-changes.ts';
import { listText, objectText, type AnswerForm } from './schema-frames.ts';
import { watchSchemas, type SeenSchemas } from './schema-watch.ts';

export interface ApiResourceSchemaModules {
  readonly serve: ApiSetHandler;
  /** What somebody may do in a logical cluster. */
  readonly reviewer: AccessReviewer;
  /** Of all shards. */
  readonly exports: Informer<APIExport>;
  readonly schemas: Informer<APIResourceSchema>;
  /** Of this shard. */
  readonly bindings: ConsumerBindings;
  readonly clock: Clock;
  /** A number from 0 to 1. */
  readonly random: () => number;
}

const service = 'apiresourceschema';

/**
 * The schemas of what a logical cluster has bound, for those who may read its bindings and know nothing of the providers
 * (C8.3): `/services/apiresourceschema/<consumer>[/clusters/<the same or *>]/apis/apis.kcp.io/v1alpha1/…`, to be read and
 * watched. What nobody has bound yet is an empty list.
 */
export function apiResourceSchemaWorkspace(modules: ApiResourceSchemaModules): VirtualWorkspace {
  const { serve, reviewer, exports, schemas, bindings, clock, random } = modules;
  const changes = new SchemaChanges(
    {},
    { bindings: bindings.informer, exports, schemas, now: () => clock.now(), random },
  );
  const synced = syncOf([exports, schemas, bindings.informer]);
  const definition = schemaDefinition();
  const set = new ApiSet([{ definition, handle: answer }]);

  async function answer(request: ResourceRequest): Promise<void> {
    const { context, name } = request;
    const cluster = request.cluster as LogicalClusterName;
    const { verb, query } = context.info;
    const formFor = (kind: EndpointKind): AnswerForm => {
      const negotiated = negotiate(context, kind);
      if (negotiated.encoding === 'protobuf') throw notInProtobuf();
      return { definition, negotiated, query, now: () => new Date(clock.now()) };
    };
    if (verb === 'get') {
      const found = await seenBy(context.exchange, cluster);
      const object = found.find(({ metadata }) => metadata.name === name);
      if (object === undefined) throw statusErrors.notFound(definition, name);
      const form = formFor(endpointKinds.customObject);
      write(context, form, objectText(form, object));
      return;
    }
    const options = decodeListOptions(query, verb === 'watch');
    // The deprecated paths below /watch/ may name an object.
    const selects = ({ metadata }: BoundSchema): boolean =>
      (name === '' || metadata.name === name) &&
      options.labelSelector.matches(metadata.labels ?? {}) &&
      options.fieldSelector.matches((field) => (field === 'metadata.name' ? (metadata.name ?? '') : ''));
    for (const { field } of options.fieldSelector.requirements)
      if (field !== 'metadata.name') throw statusErrors.badRequest(`field label not supported: ${field}`);
    if (verb === 'watch') {
      const look = (): SeenSchemas => seenNow(cluster, selects);
      const form = formFor(endpointKinds.customWatch);
      await watchSchemas(context, form, options, { changes, clock, random, look });
      return;
    }
    // First the version, then the state: a watch from there misses nothing, and is told at most what is known.
    const { version } = changes;
    const form = formFor(endpointKinds.customList);
    write(context, form, listText(form, (await seenBy(context.exchange, cluster)).filter(selects), version));
  }

  async function seenBy(exchange: Exchange, cluster: LogicalClusterName): Promise<readonly BoundSchema[]> {
    const found = await bindings.decide(exchange, cluster, (known) => {
      const seen = boundSchemas(known, modules);
      return seen.size === 0 ? undefined : seen;
    });
    return [...(found?.values() ?? [])];
  }

  function seenNow(consumer: LogicalClusterName, selects: (schema: BoundSchema) => boolean): SeenSchemas {
    const known: BindingList = bindings.known(consumer);
    const providers = exportClustersOf(known);
    return {
      schemas: new Map(
        boundSchemas(known, modules)
          .entries()
          .filter(([, schema]) => selects(schema)),
      ),
      concerns: ({ what, cluster }) => (what === 'binding' ? cluster === consumer : providers.has(cluster)),
    };
  }

  async function mayRead(exchange: Exchange, asked: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { user, cluster, verb } = asked;
    if (verb !== 'get' && verb !== 'list' && verb !== 'watch')
      return { decision: 'deny', reason: 'only read-only access is allowed to apiresourceschemas' };
    const consumer = cluster as LogicalClusterName;
    const result = await reviewer.review(exchange, user, consumer, {
      verb,
      group: 'apis.kcp.io',
      version: 'v1alpha1',
      resource: 'apibindings',
      subresource: '',
      namespace: '',
      name: '',
    });
    if (result.decision === 'allow') return result;
    return {
      ...result,
      decision: 'noOpinion',
      reason: `consumer cluster: "${consumer}" RBAC decision: ${result.reason} - user needs permission to read apibindings`,
    };
  }

  return {
    name: service,
    resolve,
    authorize: ({ exchange, ...attributes }) => {
      const step = { authorize: (asked: AuthorizationAttributes) => mayRead(exchange, asked) };
      const audited = new AuditedStep({ key: `virtual.${service}.authorization.kcp.io` }, { delegate: step });
      return new AnonymisedReasons({ delegate: audited }).authorize(attributes);
    },
    handle: async (request) => {
      await synced.promise;
      await serve(request, set);
    },
    check: () => {
      if (!synced.done) throw new Error(`${service} virtual workspace controllers are not started`);
    },
  };
}

/** The logical cluster may stand in the path twice; over all of them there is nothing but its own. */
function resolve(target: RequestPath): VirtualPath | undefined {
  const { segments } = target;
  const [services, name, consumer, clusters] = segments;
  if (target.cluster !== undefined || target.clusterPath !== undefined) return undefined;
  if (services !== 'services' || name !== service || consumer === undefined || !isLogicalClusterName(consumer))
    return undefined;
  if (clusters === 'clusters') {
    const found = parseServicePath(target, service, 1);
    if (found === undefined || (found.cluster !== '*' && found.cluster !== consumer)) return undefined;
    return { ...found, cluster: consumer, below: { ...found.below, cluster: consumer } };
  }
  const rest = target.path.split('/').slice(4);
  return {
    key: consumer,
    cluster: consumer,
    below: {
      cluster: consumer,
      clusterPath: undefined,
      path: rest.length === 0 ? '' : `/${rest.join('/')}`,
      segments: segments.slice(3),
      query: target.query,
    },
  };
}

function schemaDefinition(): ResourceDefinition {
  const { group, resource } = apiResourceSchemas;
  const found = kcpResources().find((kind) => kind.group === group && kind.resource === resource);
  if (found === undefined) throw new Error('schemas have no definition');
  return { ...found, verbs: ['get', 'list', 'watch'], subresources: {} };
}

function write(context: RequestContext, { negotiated }: AnswerForm, text: string): void {
  const plain = negotiated.encoding === 'json' && !negotiated.pretty;
  const body = plain ? `${text}\n` : encodeObject(parseJson(text), negotiated);
  writeBytes(context, 200, negotiated.mediaType, body);
}

const notInProtobuf = (): StatusError =>
  new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: 'only the following media types are accepted: application/json, application/yaml',
  });

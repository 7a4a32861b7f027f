import { isLogicalClusterName, type LogicalClusterName } from '@multiplane/apimachinery';
import type { APIExport, APIResourceSchema } from '@multiplane/apis';
import type { Informer } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import {
  AnonymizingAuthorizer,
  AuditLoggingAuthorizer,
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Exchange,
  type RequestPath,
} from '@multiplane/generic-server';
import {
  ApiSet,
  parseServicePath,
  type AccessReviewer,
  type ApiSetHandler,
  type VirtualPath,
  type VirtualWorkspace,
} from '@multiplane/virtual-framework';
import type { ConsumerBindings } from '../consumer-bindings.ts';
import { trackSync } from '../informer-sync.ts';
import { BoundSchemaResource } from './bound-schema-resource.ts';
import { SchemaChangeLog } from './schema-change-log.ts';

export interface ApiResourceSchemaModules {
  readonly serve: ApiSetHandler;
  /** Reviews access in a logical cluster. */
  readonly reviewer: AccessReviewer;
  /** APIExports of all shards. */
  readonly exports: Informer<APIExport>;
  readonly schemas: Informer<APIResourceSchema>;
  /** APIBindings of this shard. */
  readonly bindings: ConsumerBindings;
  readonly clock: Clock;
  /** A number from 0 to 1. */
  readonly random: () => number;
}

const service = 'apiresourceschema';

/**
 * The APIResourceSchema virtual workspace: the schemas of the APIs that a logical cluster has bound, read-only, for
 * callers that may read its APIBindings but have no access to the providers:
 * `/services/apiresourceschema/<consumer>[/clusters/<the same or *>]/apis/apis.kcp.io/v1alpha1/…`. Without bindings the
 * list is empty.
 */
export function apiResourceSchemaWorkspace(modules: ApiResourceSchemaModules): VirtualWorkspace {
  const { serve, reviewer, exports, schemas, bindings, clock, random } = modules;
  const changes = new SchemaChangeLog(
    {},
    { bindings: bindings.informer, exports, schemas, now: () => clock.now(), random },
  );
  const synced = trackSync([exports, schemas, bindings.informer]);
  const set = new ApiSet([new BoundSchemaResource({ ...modules, changes })]);

  return {
    name: service,
    resolve,
    authorize: ({ exchange, ...attributes }) => {
      const step = { authorize: (asked: AuthorizationAttributes) => authorizeRead(reviewer, exchange, asked) };
      const audited = new AuditLoggingAuthorizer(
        { key: `virtual.${service}.authorization.kcp.io` },
        { delegate: step },
      );
      return new AnonymizingAuthorizer({ delegate: audited }).authorize(attributes);
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

/** The consumer may also follow `/clusters/`; `*` there means the consumer, too. */
function resolve(target: RequestPath): VirtualPath | undefined {
  const { segments } = target;
  const [services, name, consumer, clusters] = segments;
  if (target.cluster !== undefined || target.clusterPath !== undefined) return undefined;
  if (services !== 'services' || name !== service || consumer === undefined || !isLogicalClusterName(consumer))
    return undefined;
  if (clusters === 'clusters') {
    const found = parseServicePath(target, service, 1);
    if (found === undefined || (found.cluster !== '*' && found.cluster !== consumer)) return undefined;
    return { ...found, cluster: consumer, requestPath: { ...found.requestPath, cluster: consumer } };
  }
  const rest = target.path.split('/').slice(4);
  return {
    key: consumer,
    cluster: consumer,
    requestPath: {
      cluster: consumer,
      clusterPath: undefined,
      path: rest.length === 0 ? '' : `/${rest.join('/')}`,
      segments: segments.slice(3),
      query: target.query,
    },
  };
}

/** Requires read access to the APIBindings of the consumer, with the verb of the request. */
async function authorizeRead(
  reviewer: AccessReviewer,
  exchange: Exchange,
  attributes: AuthorizationAttributes,
): Promise<AuthorizationResult> {
  const { user, cluster, verb } = attributes;
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

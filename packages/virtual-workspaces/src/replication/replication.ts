import type { UserInfo } from '@multiplane/apimachinery';
import {
  AnonymizingAuthorizer,
  AuditLoggingAuthorizer,
  type AuthorizationResult,
  type Authorizer,
} from '@multiplane/generic-server';
import {
  parseServicePath,
  type AccessReviewer,
  type ApiSetHandler,
  type VirtualAttributes,
  type VirtualWorkspace,
} from '@multiplane/virtual-framework';
import { bindingTo, type ExportKey } from '../apiexport/export-bindings.ts';
import { trackSync } from '../informer-sync.ts';
import {
  ReplicationApiSets,
  sliceKeyOf,
  type ReplicationApiSetsModules,
  type ReplicationApiSetsOptions,
} from './replication-api-sets.ts';

export interface ReplicationModules extends ReplicationApiSetsModules {
  readonly serve: ApiSetHandler;
  readonly reviewer: AccessReviewer;
  /** Reviews in logical clusters of this shard, by the shard itself. */
  readonly ownReviewer: AccessReviewer;
}

const auditKey = 'virtual.replication.content.authorization.kcp.io';
const readVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/**
 * The replication virtual workspace: cached objects of a CachedResource, read-only, as the resource of each consumer that
 * bound an export of them: `/services/replication/<cluster>/<slice>[:<export identity>]/clusters/<cluster or *>/…`.
 *
 * Access, beyond kcp's rule (`apiexports/content` in the provider's logical cluster): users who may read the resource in the
 * consumer's logical cluster. Shards forward consumers' requests with the identity of the caller, so no trust in the shard
 * is needed.
 */
export function replicationWorkspace(
  options: ReplicationApiSetsOptions,
  modules: ReplicationModules,
): VirtualWorkspace {
  const { serve, slices, cachedResources, exports, schemas, bindings } = modules;
  const sets = new ReplicationApiSets(options, modules);
  const content: Authorizer = {
    authorize: (attributes) => {
      const { virtual } = attributes as VirtualAttributes;
      return authorize(modules, sets.exportOf(sliceKeyOf(virtual.key)), attributes as VirtualAttributes);
    },
  };
  // Only the audit log has the reasons: a client does not learn which slices and bindings exist.
  const access = new AnonymizingAuthorizer({
    delegate: new AuditLoggingAuthorizer({ key: auditKey }, { delegate: content }),
  });
  const synced = trackSync([slices, cachedResources, exports, schemas, bindings.informer]);
  return {
    name: 'replication',
    resolve: (target) => parseServicePath(target, 'replication', 2),
    authorize: async (attributes) => {
      await synced.promise;
      const result = await access.authorize(attributes);
      return { ...result, reason: `${auditKey}: ${result.reason}` };
    },
    handle: async (request) => {
      await synced.promise;
      await sets.serve(sliceKeyOf(request.key), (set) => serve(request, set));
    },
    check: () => {
      if (!synced.done) throw new Error('replication virtual workspace controllers are not started');
    },
  };
}

async function authorize(
  modules: Pick<ReplicationModules, 'bindings' | 'reviewer' | 'ownReviewer'>,
  key: ExportKey | undefined,
  attributes: VirtualAttributes,
): Promise<AuthorizationResult> {
  const { cluster, verb, exchange, user, isResourceRequest } = attributes;
  if (!readVerbs.has(verb)) return deny('write access to Replication virtual workspace is not allowed');
  if (key === undefined || cluster === undefined) return deny('the endpoint slice does not exist or is not in use');
  if (cluster === '*') return reviewContent(modules, key, attributes, user);
  const isBound = await modules.bindings.evaluate(exchange, cluster, (bindings) =>
    bindingTo(bindings, key) === undefined ? undefined : true,
  );
  if (isBound !== true) return deny('could not find suitable APIBinding in target logical cluster');
  if (isResourceRequest) {
    const { group, version, resource, subresource, namespace, name } = attributes;
    const asked = { verb, group, version, resource, subresource, namespace, name };
    const inConsumer = await modules.ownReviewer.review(exchange, user, cluster, asked);
    if (inConsumer.decision === 'allow') return { decision: 'allow', reason: 'found CachedResource reference' };
  }
  return reviewContent(modules, key, attributes, user);
}

async function reviewContent(
  { reviewer }: Pick<ReplicationModules, 'reviewer'>,
  { cluster, name }: ExportKey,
  { verb, exchange }: VirtualAttributes,
  user: UserInfo,
): Promise<AuthorizationResult> {
  const result = await reviewer.review(exchange, user, cluster, {
    verb,
    group: 'apis.kcp.io',
    version: 'v1alpha1',
    resource: 'apiexports',
    subresource: 'content',
    namespace: '',
    name,
  });
  return result.decision === 'allow'
    ? { decision: 'allow', reason: 'found CachedResource reference' }
    : { ...result, decision: 'deny' };
}

const deny = (reason: string): AuthorizationResult => ({ decision: 'deny', reason });

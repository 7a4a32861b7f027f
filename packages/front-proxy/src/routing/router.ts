import { StatusError, statusErrors } from '@multiplane/apimachinery';
import { mountTarget } from '@multiplane/reverse-proxy';
import type { ShardRoute, WorkspaceIndex } from '../index/workspace-index.ts';
import { shardsPath, type Mapping } from '../mapping/mapping-file.ts';
import { PathMappings } from '../mapping/path-mappings.ts';
import { isClusterPath, type RequestTarget } from './request-target.ts';

/** What is to become of a request. */
export type Destination =
  | {
      readonly kind: 'forward';
      readonly mapping: Mapping;
      readonly url: URL;
      /** Path and query. */
      readonly path: string;
      /** Of metrics: the shard, or nothing. */
      readonly shard: string;
      /** A tenant says where it goes: no token of the caller may go there. */
      readonly isForeign: boolean;
    }
  | { readonly kind: 'not-found' }
  /** 503 with a text (C11.3). */
  | { readonly kind: 'unavailable' };

export interface RouterModules {
  readonly index: WorkspaceIndex;
  /** True while a workspace that is not found may exist all the same. */
  readonly isIncomplete: () => boolean;
}

type AskedTarget = RequestTarget & { readonly method: string };

const servicesSegment = 'services';
const rootShard = 'root';

/**
 * Finds the server for a path (C11.1, C11.3), the most specific mapping first.
 *
 * - `/clusters/<path>/…`: the shard of the workspace, asked for by the name of its logical cluster; or the mount.
 * - Another mapping: its backend. A workspace that the path names must exist, as must be one that `{cluster}` stands for.
 * - `/services/<virtual workspace>/…` without a mapping of its own: the virtual-workspace URL of a shard, unchanged. Each
 *   shard's virtual workspaces know that shard's objects, so it is the shard of the logical cluster behind
 *   `/clusters/`; without one, or with `*`, of the first segment that is the name of a logical cluster (where an
 *   APIExport lives), else the root shard. What all shards have together is behind no single URL: endpoint slices name
 *   them all. The cache of the shards is never reached this way.
 */
export class Router {
  readonly #mappings: PathMappings;
  readonly #shards: Mapping | undefined;
  readonly #index: WorkspaceIndex;
  readonly #isIncomplete: () => boolean;

  constructor(mappings: readonly Mapping[], modules: RouterModules) {
    this.#mappings = new PathMappings(mappings);
    this.#shards = mappings.find(({ path }) => path === shardsPath);
    this.#index = modules.index;
    this.#isIncomplete = modules.isIncomplete;
  }

  /** Throws a StatusError for a workspace that is none, or is not known yet. */
  route(target: RequestTarget, method: string): Destination {
    const asked = { ...target, method };
    const { segments } = target;
    const found = this.#mappings.find(segments);
    // A default backend is for what has no place; virtual workspaces have one.
    if ((found === undefined || found.mapping.path === '') && segments[0] === servicesSegment) {
      const service = this.#routeService(asked);
      if (service !== undefined) return service;
    }
    if (found === undefined) return { kind: 'not-found' };
    const { mapping, cluster } = found;
    if (mapping === this.#shards) return this.#routeCluster(mapping, asked);
    const isNamed = cluster !== undefined && cluster !== '' && cluster !== '*';
    const route = isNamed ? this.#lookup(cluster, asked) : undefined;
    if (route?.kind === 'unavailable') return { kind: 'unavailable' };
    return {
      kind: 'forward',
      mapping,
      url: mapping.backend as URL,
      path: target.path + target.query,
      shard: route?.kind === 'cluster' ? route.shard.name : '',
      isForeign: false,
    };
  }

  #routeCluster(mapping: Mapping, target: AskedTarget): Destination {
    const [, cluster = ''] = target.segments;
    if (target.segments.length < 2) return { kind: 'not-found' };
    const route = this.#lookup(cluster, target);
    const trail = target.path.slice('/clusters/'.length + cluster.length) + target.query;
    switch (route.kind) {
      case 'unavailable':
        return route;
      case 'cluster': {
        const { name, baseUrl } = route.shard;
        const path = `/clusters/${route.cluster}${trail}`;
        return { kind: 'forward', mapping, url: baseUrl, path, shard: name, isForeign: false };
      }
      case 'mount': {
        let mount;
        try {
          mount = mountTarget(route.url, route.rest);
        } catch (cause) {
          throw new StatusError({
            code: 503,
            reason: 'ServiceUnavailable',
            message: 'the workspace is mounted from where it must not be',
            cause,
          });
        }
        if (mount === undefined) throw notPermitted(target);
        const { url, path } = mount;
        const isForeign = !this.#index.isOwnOrigin(url.origin);
        return { kind: 'forward', mapping, url, path: path + trail, shard: '', isForeign };
      }
    }
  }

  #routeService(target: AskedTarget): Destination | undefined {
    const { path, query, segments } = target;
    const mapping = this.#shards;
    if (mapping === undefined || segments.length < 3 || segments[1] === 'cache') return undefined;
    const shard = this.#serviceShard(target);
    if (shard === undefined) {
      if (this.#isIncomplete()) throw notKnownYet();
      return undefined;
    }
    const { name, virtualWorkspaceUrl } = shard;
    return { kind: 'forward', mapping, url: virtualWorkspaceUrl, path: path + query, shard: name, isForeign: false };
  }

  #serviceShard(target: AskedTarget): ShardRoute | undefined {
    const { segments } = target;
    const at = segments.indexOf('clusters');
    const cluster = at < 0 ? '*' : (segments[at + 1] ?? '');
    if (cluster !== '*') {
      if (!isClusterPath(cluster)) throw notPermitted(target);
      const route = this.#index.lookup(cluster);
      if (route?.kind === 'cluster') return route.shard;
      if (this.#isIncomplete()) throw notKnownYet();
      throw notPermitted(target);
    }
    for (const segment of segments.slice(2, at < 0 ? undefined : at)) {
      const shard = this.#index.shardOf(segment);
      if (shard !== undefined) return shard;
    }
    return this.#index.shard(rootShard);
  }

  #lookup(cluster: string, target: AskedTarget) {
    const route = isClusterPath(cluster) ? this.#index.lookup(cluster) : undefined;
    if (route !== undefined) return route;
    if (isClusterPath(cluster) && this.#isIncomplete()) throw notKnownYet();
    throw notPermitted(target);
  }
}

/** The user has no name yet: this is found out before anybody is authenticated (C11.3). */
const notPermitted = ({ path, method }: AskedTarget): Error =>
  statusErrors.forbidden(
    { group: '', resource: '' },
    '',
    `User "" cannot ${method.toLowerCase()} path ${JSON.stringify(path)}: workspace access not permitted`,
  );

const notKnownYet = (): Error => statusErrors.serviceUnavailable('the shards of workspaces are not all known yet', 1);

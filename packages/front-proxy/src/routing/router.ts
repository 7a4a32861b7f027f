import { statusErrors } from '@multiplane/apimachinery';
import type { MaybePromise } from '@multiplane/generic-server';
import { maxMountHops, mountedCluster, mountTarget, mountUnreachable } from '@multiplane/reverse-proxy';
import type { ShardRoute, WorkspaceIndex } from '../index/workspace-index.ts';
import { shardsPath, type Mapping } from '../mapping/mapping-file.ts';
import { PathMappings } from '../mapping/path-mappings.ts';
import { isClusterPath, type RequestTarget } from './request-target.ts';

/** The routing decision for a request. */
export type Destination =
  | {
      readonly kind: 'forward';
      readonly mapping: Mapping;
      readonly url: URL;
      /** Path and query. */
      readonly path: string;
      /** Shard label of metrics; empty if the destination is not a shard. */
      readonly shard: string;
      /** For a backend other than a shard: the logical cluster that the path names. */
      readonly cluster?: string | undefined;
      /**
       * Of a mounted workspace, whose URL a tenant chooses: tokens are not forwarded. `own`: to a logical cluster of this control
       * plane, which knows the user by identity headers.
       */
      readonly mount?: 'own' | 'external' | undefined;
    }
  | { readonly kind: 'not-found' }
  /** A 503 with a plain text, as in kcp. */
  | { readonly kind: 'unavailable' };

export interface RouterModules {
  readonly index: WorkspaceIndex;
  /** True while a workspace that is not in the index may exist. */
  readonly isIncomplete: () => boolean;
  /** Resolves to true once the index has a path that a shard has. */
  readonly reaches: (path: string) => Promise<boolean>;
}

type MethodTarget = RequestTarget & { readonly method: string };

const servicesSegment = 'services';
const rootShard = 'root';

/**
 * Finds the server for a path. The most specific mapping applies:
 *
 * - `/clusters/<path>/…`: the shard of the workspace, with the name of its logical cluster in the path; or the URL of a mount.
 * - Another mapping: its backend. The workspace in the path, or in place of `{cluster}`, must exist.
 * - `/services/<virtual workspace>/…` without a mapping: the virtual-workspace URL of a shard, with an unchanged path. The
 *   virtual workspaces of a shard serve its objects, so the shard is that of the logical cluster after `/clusters/`. Without
 *   one, or with `*`, it is the shard of the first segment that names a logical cluster (of the APIExport), else the root
 *   shard. Objects of all shards are not available at one URL; endpoint slices list the URLs of all shards. The cache server
 *   cannot be reached through the front-proxy.
 */
export class Router {
  readonly #mappings: PathMappings;
  readonly #shards: Mapping | undefined;
  readonly #index: WorkspaceIndex;
  readonly #isIncomplete: () => boolean;
  readonly #reaches: RouterModules['reaches'];

  constructor(mappings: readonly Mapping[], modules: RouterModules) {
    this.#mappings = new PathMappings(mappings);
    this.#shards = mappings.find(({ path }) => path === shardsPath);
    this.#index = modules.index;
    this.#isIncomplete = modules.isIncomplete;
    this.#reaches = modules.reaches;
  }

  /**
   * Throws a StatusError for a missing workspace, or 503 if it may not be indexed yet. Asks the shards before a workspace is
   * missing, so only then the result is a promise.
   */
  route(target: RequestTarget, method: string): MaybePromise<Destination> {
    try {
      return this.#route(target, method);
    } catch (error) {
      if (error instanceof NotIndexed) return this.#routeAgain(target, method, error);
      throw error;
    }
  }

  async #routeAgain(target: RequestTarget, method: string, missing: NotIndexed): Promise<Destination> {
    if (!(await this.#reaches(missing.cluster))) throw missing.response;
    try {
      return this.#route(target, method);
    } catch (error) {
      throw error instanceof NotIndexed ? error.response : error;
    }
  }

  #route(target: RequestTarget, method: string): Destination {
    const request = { ...target, method };
    const { segments } = target;
    const found = this.#mappings.find(segments);
    // The default mapping does not apply to virtual workspaces.
    if ((found === undefined || found.mapping.path === '') && segments[0] === servicesSegment) {
      const service = this.#routeService(request);
      if (service !== undefined) return service;
    }
    if (found === undefined) return { kind: 'not-found' };
    const { mapping, cluster } = found;
    if (mapping === this.#shards) return this.#routeCluster(mapping, request);
    const isNamed = cluster !== undefined && cluster !== '' && cluster !== '*';
    const route = isNamed ? this.#lookup(cluster, request) : undefined;
    if (route?.kind === 'unavailable') return { kind: 'unavailable' };
    return {
      kind: 'forward',
      mapping,
      url: mapping.backend as URL,
      path: target.path + target.query,
      ...(route?.kind === 'cluster' ? { shard: route.shard.name, cluster: route.cluster } : { shard: '' }),
    };
  }

  #routeCluster(mapping: Mapping, target: MethodTarget, hops = 0): Destination {
    const [, cluster = ''] = target.segments;
    if (target.segments.length < 2) return { kind: 'not-found' };
    const route = this.#lookup(cluster, target);
    const trailAt = target.path.indexOf('/', '/clusters/'.length);
    const trail = (trailAt < 0 ? '' : target.path.slice(trailAt)) + target.query;
    switch (route.kind) {
      case 'unavailable':
        return route;
      case 'cluster': {
        const { name, baseUrl } = route.shard;
        const path = `/clusters/${route.cluster}${trail}`;
        return { kind: 'forward', mapping, url: baseUrl, path, shard: name };
      }
      case 'mount': {
        return this.#routeMount(mapping, target, { ...route, trail, hops });
      }
    }
  }

  #routeMount(
    mapping: Mapping,
    target: MethodTarget,
    mounted: {
      readonly url: string;
      readonly rest: readonly string[];
      /** Path and query behind the logical cluster. */
      readonly trail: string;
      readonly hops: number;
    },
  ): Destination {
    const { trail, hops } = mounted;
    let mount;
    try {
      mount = mountTarget(mounted.url, mounted.rest);
    } catch {
      throw statusErrors.serviceUnavailable(mountUnreachable);
    }
    if (mount === undefined) throw notPermitted(target);
    const { url, path } = mount;
    if (!this.#index.isOwnOrigin(url.origin))
      return { kind: 'forward', mapping, url, path: path + trail, shard: '', mount: 'external' };
    // Routed like a request to that logical cluster, not sent to its URL: no other path of this control plane can be mounted.
    const cluster = mountedCluster(path);
    if (cluster === undefined) throw statusErrors.serviceUnavailable(mountUnreachable);
    if (hops >= maxMountHops) throw statusErrors.untyped('the request passed too many mounts', 508);
    const inner = {
      ...target,
      path: path + trail.slice(0, trail.length - target.query.length),
      segments: ['clusters', cluster],
    };
    const destination = this.#routeCluster(mapping, inner, hops + 1);
    return destination.kind === 'forward' ? { mount: 'own', ...destination } : destination;
  }

  #routeService(target: MethodTarget): Destination | undefined {
    const { path, query, segments } = target;
    const mapping = this.#shards;
    if (mapping === undefined || segments.length < 3 || segments[1] === 'cache') return undefined;
    const shard = this.#serviceShard(target);
    if (shard === undefined) {
      if (this.#isIncomplete()) throw notSyncedYet();
      return undefined;
    }
    const { name, virtualWorkspaceUrl } = shard;
    return { kind: 'forward', mapping, url: virtualWorkspaceUrl, path: path + query, shard: name };
  }

  #serviceShard(target: MethodTarget): ShardRoute | undefined {
    const { segments } = target;
    const at = segments.indexOf('clusters');
    const cluster = at < 0 ? '*' : (segments[at + 1] ?? '');
    if (cluster !== '*') {
      if (!isClusterPath(cluster)) throw notPermitted(target);
      const route = this.#index.lookup(cluster);
      if (route?.kind === 'cluster') return route.shard;
      if (this.#isIncomplete()) throw notSyncedYet();
      throw new NotIndexed(cluster, target);
    }
    for (const segment of segments.slice(2, at < 0 ? undefined : at)) {
      const shard = this.#index.shardOf(segment);
      if (shard !== undefined) return shard;
    }
    return this.#index.shard(rootShard);
  }

  #lookup(cluster: string, target: MethodTarget) {
    const route = isClusterPath(cluster) ? this.#index.lookup(cluster) : undefined;
    if (route !== undefined) return route;
    if (!isClusterPath(cluster)) throw notPermitted(target);
    if (this.#isIncomplete()) throw notSyncedYet();
    throw new NotIndexed(cluster, target);
  }
}

/** A valid path that is not in the index. */
class NotIndexed extends Error {
  readonly cluster: string;
  /** To the client if there is no such workspace. */
  readonly response: Error;
  constructor(cluster: string, target: MethodTarget) {
    super(`${cluster} is not indexed`);
    this.cluster = cluster;
    this.response = notPermitted(target);
  }
}

/** Routing precedes authentication, so the message has an empty user name, as in kcp. */
const notPermitted = ({ path, method }: MethodTarget): Error =>
  statusErrors.forbidden(
    { group: '', resource: '' },
    '',
    `User "" cannot ${method.toLowerCase()} path ${JSON.stringify(path)}: workspace access not permitted`,
  );

const notSyncedYet = (): Error => statusErrors.serviceUnavailable('the shards of workspaces are not all known yet', 1);

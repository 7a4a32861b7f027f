import type { LogicalClusterName } from '@multiplane/apimachinery';
import type {
  AuthorizationAttributes,
  AuthorizationResult,
  Exchange,
  RequestContext,
  RequestInfo,
  RequestPath,
} from '@multiplane/generic-server';

/** The virtual workspace that a request addresses. */
export interface VirtualTarget {
  readonly workspace: VirtualWorkspace;
  /** The API domain key: which initializer, export or consumer the request names. */
  readonly key: string;
  /** The logical cluster; `*` for all of the shard. */
  readonly cluster: LogicalClusterName | '*';
}

/** A path as a virtual workspace parses it. */
export interface VirtualPath {
  readonly key: string;
  readonly cluster: LogicalClusterName | '*';
  /** The path within the logical cluster. */
  readonly requestPath: RequestPath;
}

export interface VirtualRequest extends VirtualTarget {
  readonly context: RequestContext;
}

/** Authorization attributes of a request to a virtual workspace. */
export interface VirtualAttributes extends AuthorizationAttributes {
  readonly virtual: VirtualTarget;
  /** The request, for authorizers that send a review to another server on its behalf. */
  readonly exchange: Exchange;
}

/**
 * An API that is computed from logical clusters instead of stored, below `/services/<…>`. Virtual workspaces may share
 * a path prefix: the first registered one that accepts a request handles it.
 */
export interface VirtualWorkspace {
  /** Also the name of its readiness check. */
  readonly name: string;
  /** Returns undefined for a path of another virtual workspace. */
  resolve(target: RequestPath): VirtualPath | undefined;
  /** Whether it handles a request whose path it resolves; absent: always. */
  accepts?(info: RequestInfo): boolean;
  /**
   * Authorizes requests as non-resource requests for the path from `/clusters/<c>` on, for a virtual workspace that
   * proxies any request without interpreting it.
   */
  readonly authorizesByPath?: boolean | undefined;
  /**
   * Unknown paths get the list of root paths with their 404; absent: a text only. In kcp the virtual workspace does that to which
   * the others delegate (k8s.io/apiserver/pkg/server/config.go).
   */
  readonly listsRootPaths?: boolean | undefined;
  /**
   * `/api` and `/apis` never have the aggregated form, which clients take for the whole truth: as in kcp, discovery then names the
   * version v1 of the core group, of which nothing is served.
   */
  readonly hasPlainDiscovery?: boolean | undefined;
  /** Not called for members of system:masters. */
  authorize(attributes: VirtualAttributes): Promise<AuthorizationResult>;
  handle(request: VirtualRequest): Promise<void>;
  /** The readiness check: throws the reason why requests cannot be served now. */
  check?(): void | Promise<void>;
}

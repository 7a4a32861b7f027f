import type { LogicalClusterName } from '@multiplane/apimachinery';
import type {
  AuthorizationAttributes,
  AuthorizationResult,
  Exchange,
  RequestContext,
  RequestInfo,
  RequestPath,
} from '@multiplane/apiserver';

/** What stands behind the address of a virtual workspace. */
export interface VirtualTarget {
  readonly workspace: VirtualWorkspace;
  /** The API domain: which one of a virtual workspace's views is meant (an initializer, an export). */
  readonly key: string;
  /** The logical cluster looked at; `*` for all of the shard. */
  readonly cluster: LogicalClusterName | '*';
}

/** A path taken apart by a virtual workspace. */
export interface VirtualPath {
  readonly key: string;
  readonly cluster: LogicalClusterName | '*';
  /** What is asked for inside of the logical cluster. */
  readonly below: RequestPath;
}

export interface VirtualRequest extends VirtualTarget {
  readonly context: RequestContext;
}

/** What a request to a virtual workspace asks leave for. */
export interface VirtualAttributes extends AuthorizationAttributes {
  readonly virtual: VirtualTarget;
  /** The request itself, for authorizers that ask another server on its behalf. */
  readonly exchange: Exchange;
}

/**
 * A view of logical clusters that is computed instead of stored, below `/services/<…>` (C8.1). Several may share the
 * beginning of their paths: they are asked in the order of registration, and the first that takes a request has it.
 */
export interface VirtualWorkspace {
  /** Also the name of its readiness check. */
  readonly name: string;
  /** Undefined: a path that is not its own. */
  resolve(target: RequestPath): VirtualPath | undefined;
  /** Takes the request, of those whose paths it resolves; absent: all of them. */
  accepts?(info: RequestInfo): boolean;
  /**
   * How authorization names what is asked for: as what it is, or, for one that hands everything on unlooked at, as the
   * path from `/clusters/<c>` on (C8.4).
   */
  readonly authorizesByPath?: boolean | undefined;
  /** Asked for everybody but members of system:masters. */
  authorize(attributes: VirtualAttributes): Promise<AuthorizationResult>;
  handle(request: VirtualRequest): Promise<void>;
  /** Throws why requests cannot be served now. */
  check?(): void | Promise<void>;
}

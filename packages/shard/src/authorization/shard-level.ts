import {
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  isShardLevelPath,
} from '@multiplane/generic-server';
import { rootCluster } from '../logical-cluster-index.ts';

/** Paths that clients read before they select a workspace. */
const serverPaths: ReadonlySet<string> = new Set(['/version', '/version/']);

/**
 * Authorizes requests outside of a logical cluster by RBAC in `root`, if the path is a shard-level one (kcp
 * `pkg/authorization/shardpaths/paths.go`), also below `/clusters/*`. The delegate authorizes all other requests.
 */
export class ShardLevelAuthorizer implements Authorizer {
  readonly #rbac: Authorizer;
  readonly #delegate: Authorizer;
  constructor(modules: { readonly rbac: Authorizer; readonly delegate: Authorizer }) {
    this.#rbac = modules.rbac;
    this.#delegate = modules.delegate;
  }
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { cluster, isResourceRequest, path } = attributes;
    const isShardLevel =
      !isResourceRequest &&
      ((cluster === undefined && serverPaths.has(path)) ||
        ((cluster === undefined || cluster === '*') && isShardLevelPath(path)));
    return isShardLevel
      ? this.#rbac.authorize({ ...attributes, cluster: rootCluster })
      : this.#delegate.authorize(attributes);
  }
}

import {
  isShardLevelPath,
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
} from '@multiplane/apiserver';
import { rootCluster } from '../logical-cluster-index.ts';

/** What is no secret of a workspace: clients ask for it before they choose one. */
const serverPaths: ReadonlySet<string> = new Set(['/version', '/version/']);

/** Requests outside of any logical cluster: RBAC of `root` decides on the shard's own paths, nobody on the others. */
export class ShardLevelAuthorizer implements Authorizer {
  readonly #rbac: Authorizer;
  readonly #delegate: Authorizer;
  constructor(modules: { readonly rbac: Authorizer; readonly delegate: Authorizer }) {
    this.#rbac = modules.rbac;
    this.#delegate = modules.delegate;
  }
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { cluster, isResourceRequest, path } = attributes;
    return cluster === undefined && !isResourceRequest && (isShardLevelPath(path) || serverPaths.has(path))
      ? this.#rbac.authorize({ ...attributes, cluster: rootCluster })
      : this.#delegate.authorize(attributes);
  }
}

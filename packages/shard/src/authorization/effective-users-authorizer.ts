import {
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  UnionAuthorizer,
} from '@multiplane/generic-server';
import { effectiveUsers } from './effective-users.ts';

/**
 * Adapts an authorizer that does not know scopes and warrants: calls it for each effective user in the logical cluster, in
 * order, until one call allows or denies.
 */
export class EffectiveUsersAuthorizer implements Authorizer {
  readonly #delegate: Authorizer;
  constructor(modules: { readonly delegate: Authorizer }) {
    this.#delegate = modules.delegate;
  }
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { user, cluster } = attributes;
    if (cluster === undefined || cluster === '*') return this.#delegate.authorize(attributes);
    const authorizers = effectiveUsers(user, cluster).map((effective) => ({
      authorize: () => this.#delegate.authorize({ ...attributes, user: effective }),
    }));
    return new UnionAuthorizer({ authorizers }).authorize(attributes);
  }
}

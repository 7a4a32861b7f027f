import {
  UnionAuthorizer,
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
} from '@multiplane/apiserver';
import { effectiveUsers } from './effective-users.ts';

/**
 * Asks an authorizer that knows nothing of scopes and warrants: once for everybody the user counts as in the logical
 * cluster, one after the other; the first opinion counts (C7.4). Somebody out of scope is asked about as the stranger it
 * is there.
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

import {
  annotateDecision,
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
} from '@multiplane/generic-server';

/**
 * RBAC as the links `05-bootstrap` and `05-local` of kcp's chain (`pkg/server/options/authorization.go`): the audit event names
 * the decision of each link that was asked. Both are one authorizer here, which evaluates the bootstrap policy first.
 */
export class RbacLinks implements Authorizer {
  readonly #delegate: Authorizer;
  constructor(modules: { readonly delegate: Authorizer }) {
    this.#delegate = modules.delegate;
  }

  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { annotate } = attributes;
    return annotate === undefined
      ? this.#delegate.authorize(attributes)
      : this.#authorizeWithAudit(attributes, annotate);
  }

  async #authorizeWithAudit(
    attributes: AuthorizationAttributes,
    annotate: NonNullable<AuthorizationAttributes['annotate']>,
  ): Promise<AuthorizationResult> {
    const result = await this.#delegate.authorize(attributes);
    const { reason, isBootstrapPolicy = false } = result;
    annotate('05-bootstrap-decision', isBootstrapPolicy ? 'Allowed' : 'NoOpinion');
    annotate('05-bootstrap-reason', `bootstrap policy: ${isBootstrapPolicy ? reason : ''}`);
    if (isBootstrapPolicy) return result;
    annotateDecision(annotate, '05-local', result);
    return result;
  }
}

import type { AuthorizationAttributes, AuthorizationResult, Authorizer } from './authorizer.ts';

const decisionTexts = { allow: 'Allowed', deny: 'Denied', noOpinion: 'NoOpinion' } as const;

/** Adds the decision and the reason of a link of the authorization chain to the audit event, as kcp's decorator does. */
export function annotateDecision(
  annotate: NonNullable<AuthorizationAttributes['annotate']>,
  key: string,
  { decision, error, reason }: AuthorizationResult,
): void {
  annotate(`${key}-decision`, decisionTexts[decision]);
  annotate(`${key}-reason`, error === undefined ? reason : `reason: ${reason}, error: ${error.message}`);
}

/** Adds the decision and reason of an authorizer to the audit event. */
export class AuditLoggingAuthorizer implements Authorizer {
  readonly #key: string;
  readonly #delegate: Authorizer;
  constructor(options: { readonly key: string }, modules: { readonly delegate: Authorizer }) {
    this.#key = options.key;
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
    annotateDecision(annotate, this.#key, result);
    return result;
  }
}

/**
 * Replaces reasons by `access granted` or `access denied`, so that clients can neither distinguish a forbidden workspace from a
 * missing one nor learn about the permissions of others.
 */
export class AnonymizingAuthorizer implements Authorizer {
  readonly #delegate: Authorizer;
  constructor(modules: { readonly delegate: Authorizer }) {
    this.#delegate = modules.delegate;
  }
  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const result = await this.#delegate.authorize(attributes);
    return { ...result, reason: result.decision === 'allow' ? 'access granted' : 'access denied' };
  }
}

import type { AuthorizationAttributes, AuthorizationResult, Authorizer } from './authorizer.ts';

const words = { allow: 'Allowed', deny: 'Denied', noOpinion: 'NoOpinion' } as const;

/** A step of the chain that tells the audit log what it decided and why; clients learn neither (C7.8). */
export class AuditedStep implements Authorizer {
  readonly #key: string;
  readonly #delegate: Authorizer;
  constructor(options: { readonly key: string }, modules: { readonly delegate: Authorizer }) {
    this.#key = options.key;
    this.#delegate = modules.delegate;
  }
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const { annotate } = attributes;
    return annotate === undefined ? this.#delegate.authorize(attributes) : this.#tell(attributes, annotate);
  }

  async #tell(
    attributes: AuthorizationAttributes,
    annotate: NonNullable<AuthorizationAttributes['annotate']>,
  ): Promise<AuthorizationResult> {
    const result = await this.#delegate.authorize(attributes);
    const { decision, error, reason } = result;
    annotate(`${this.#key}-decision`, words[decision]);
    annotate(`${this.#key}-reason`, error === undefined ? reason : `reason: ${reason}, error: ${error.message}`);
    return result;
  }
}

/**
 * Reasons stay inside: a client is told that access was granted or denied and no more, so that nobody can tell a
 * forbidden workspace from a missing one, or learns who else has rights (C7.7).
 */
export class AnonymisedReasons implements Authorizer {
  readonly #delegate: Authorizer;
  constructor(modules: { readonly delegate: Authorizer }) {
    this.#delegate = modules.delegate;
  }
  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const result = await this.#delegate.authorize(attributes);
    return { ...result, reason: result.decision === 'allow' ? 'access granted' : 'access denied' };
  }
}

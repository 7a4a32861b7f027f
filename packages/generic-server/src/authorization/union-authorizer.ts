import { mastersGroup } from '@multiplane/apimachinery';
import type { AuthorizationAttributes, AuthorizationResult, Authorizer } from './authorizer.ts';

/** Evaluates authorizers in order; the first opinion wins. Without one, the reasons and errors of all are combined. */
export class UnionAuthorizer implements Authorizer {
  readonly #authorizers: readonly Authorizer[];
  constructor(modules: { readonly authorizers: readonly Authorizer[] }) {
    this.#authorizers = modules.authorizers;
  }
  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const reasons: string[] = [];
    const errors: Error[] = [];
    for (const authorizer of this.#authorizers) {
      const result = await authorizer.authorize(attributes);
      if (result.decision !== 'noOpinion') return result;
      if (result.reason !== '') reasons.push(result.reason);
      if (result.error !== undefined) errors.push(result.error);
    }
    const error =
      errors.length === 0
        ? undefined
        : errors.length === 1
          ? (errors[0] as Error)
          : new AggregateError(errors, errors.map((e) => e.message).join(', '));
    return { decision: 'noOpinion', reason: reasons.join('\n'), ...(error === undefined ? {} : { error }) };
  }
}

/** Allows everything to members of privileged groups; default: `system:masters`. */
export class PrivilegedGroupAuthorizer implements Authorizer {
  readonly #groups: ReadonlySet<string>;
  constructor(options: { readonly groups?: readonly string[] } = {}) {
    this.#groups = new Set(options.groups ?? [mastersGroup]);
  }
  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    return attributes.user.groups.some((group) => this.#groups.has(group))
      ? { decision: 'allow', reason: '' }
      : { decision: 'noOpinion', reason: '' };
  }
}

/** Allows non-resource paths to all callers; a trailing `*` matches a prefix. */
export class AlwaysAllowPathsAuthorizer implements Authorizer {
  readonly #paths: ReadonlySet<string>;
  readonly #prefixes: readonly string[];
  constructor(options: { readonly paths: readonly string[] }) {
    this.#paths = new Set(options.paths.filter((path) => !path.endsWith('*')));
    this.#prefixes = options.paths.filter((path) => path.endsWith('*')).map((path) => path.slice(0, -1));
  }
  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationResult> {
    const allowed =
      !attributes.isResourceRequest &&
      (this.#paths.has(attributes.path) || this.#prefixes.some((prefix) => attributes.path.startsWith(prefix)));
    return { decision: allowed ? 'allow' : 'noOpinion', reason: '' };
  }
}

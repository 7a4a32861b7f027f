import { validateDns1123Label, validateDns1123Subdomain } from '@multiplane/apimachinery';
import { CelError } from './cel-error.ts';
import { declare, type Overload } from './function-declaration.ts';
import { opaqueType, type CelType } from './types.ts';
import { CelOpaque, type CelValue } from './values.ts';

/** An authorization check of an expression: for a resource or for a path. */
export interface AuthorizationQuery {
  readonly verb: string;
  /** A service account in place of the user of the request. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string } | undefined;
  /** For requests that are not for resources. */
  readonly path?: string | undefined;
  readonly group?: string | undefined;
  readonly resource?: string | undefined;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
}
export interface AuthorizationDecision {
  readonly allowed: boolean;
  readonly reason: string;
  /** Why there is no decision. */
  readonly error?: string | undefined;
}

/**
 * Who answers `authorizer…check(…)`. Evaluation does not wait: one that must ask elsewhere throws, and is asked again
 * when the expression is evaluated anew with the answer at hand.
 */
export interface CelAuthorizer {
  check(query: AuthorizationQuery): AuthorizationDecision;
}

const typeNamed = (name: string): CelType => opaqueType(`kubernetes.authorization.${name}`);
/** The type of the variable `authorizer`. */
export const authorizerType = typeNamed('Authorizer');
/** The type of the variable `authorizer.requestResource`. */
export const resourceCheckType = typeNamed('ResourceCheck');
const kinds = {
  authorizer: authorizerType,
  path: typeNamed('PathCheck'),
  group: typeNamed('GroupCheck'),
  resource: resourceCheckType,
};

/** An authorizer and what was said so far of the question. */
export class CelAuthorizerValue extends CelOpaque {
  override readonly type: CelType;
  readonly #authorizer: CelAuthorizer;
  readonly #query: Omit<AuthorizationQuery, 'verb'>;
  constructor(
    authorizer: CelAuthorizer,
    query: Omit<AuthorizationQuery, 'verb'> = {},
    kind: keyof typeof kinds = 'authorizer',
  ) {
    super();
    this.#authorizer = authorizer;
    this.#query = query;
    this.type = kinds[kind];
  }
  override equals(other: CelOpaque): boolean {
    return other === this;
  }
  with(more: Omit<AuthorizationQuery, 'verb'>, kind: keyof typeof kinds): CelAuthorizerValue {
    return new CelAuthorizerValue(this.#authorizer, { ...this.#query, ...more }, kind);
  }
  check(verb: string): Decision {
    return new Decision(this.#authorizer.check({ ...this.#query, verb }));
  }
}

class Decision extends CelOpaque {
  override readonly type = typeNamed('Decision');
  readonly decision: AuthorizationDecision;
  constructor(decision: AuthorizationDecision) {
    super();
    this.decision = decision;
  }
  override equals(other: CelOpaque): boolean {
    return other === this;
  }
}

const prefix = 'kubernetes.authorization';
type Step = (value: CelAuthorizerValue, text: string) => CelValue;
const step = (name: string, id: string, from: string, to: string, apply: Step): Overload =>
  declare(name, id, `${prefix}.${from}.(string) ${prefix}.${to}`, (value, text) =>
    apply(value as CelAuthorizerValue, text as string),
  );
const refine = (name: string, id: string, field: keyof AuthorizationQuery): Overload =>
  step(name, id, 'ResourceCheck', 'ResourceCheck', (value, text) => value.with({ [field]: text }, 'resource'));
const read = (name: string, result: string, get: (decision: AuthorizationDecision) => CelValue): Overload =>
  declare(name, `decision_${name}`, `${prefix}.Decision.() ${result}`, (value) => get((value as Decision).decision));

function filled(text: string, what: string): string {
  if (text.trim() === '') throw new CelError(`${what} must not be empty`);
  return text;
}

function serviceAccount(value: CelAuthorizerValue, namespace: string, name: string): CelAuthorizerValue {
  if (validateDns1123Subdomain(name).length > 0) throw new CelError('Invalid service account name');
  if (validateDns1123Label(namespace).length > 0) throw new CelError('Invalid service account namespace');
  return value.with({ serviceAccount: { namespace, name } }, 'authorizer');
}

/** Kubernetes' functions of authorization; of use where there is a variable `authorizer` (admission). */
export const authorizerLibrary: readonly Overload[] = [
  step('path', 'authorizer_path', 'Authorizer', 'PathCheck', (value, path) =>
    value.with({ path: filled(path, 'path') }, 'path'),
  ),
  step('group', 'authorizer_group', 'Authorizer', 'GroupCheck', (value, group) => value.with({ group }, 'group')),
  declare(
    'serviceAccount',
    'authorizer_serviceaccount',
    `${prefix}.Authorizer.(string, string) ${prefix}.Authorizer`,
    (value, namespace, name) => serviceAccount(value as CelAuthorizerValue, namespace as string, name as string),
  ),
  step('resource', 'groupcheck_resource', 'GroupCheck', 'ResourceCheck', (value, resource) =>
    value.with({ resource: filled(resource, 'resource') }, 'resource'),
  ),
  refine('subresource', 'resourcecheck_subresource', 'subresource'),
  refine('namespace', 'resourcecheck_namespace', 'namespace'),
  refine('name', 'resourcecheck_name', 'name'),
  refine('fieldSelector', 'authorizer_fieldselector', 'fieldSelector'),
  refine('labelSelector', 'authorizer_labelselector', 'labelSelector'),
  step('check', 'pathcheck_check', 'PathCheck', 'Decision', (value, verb) => value.check(verb)),
  step('check', 'resourcecheck_check', 'ResourceCheck', 'Decision', (value, verb) => value.check(verb)),
  read('allowed', 'bool', ({ allowed }) => allowed),
  read('reason', 'string', ({ reason }) => reason),
  read('errored', 'bool', ({ error }) => error !== undefined),
  read('error', 'string', ({ error }) => error ?? ''),
];

import {
  caBundleProblem,
  fieldErrors,
  splitUrl,
  validateDns1123Subdomain,
  type FieldError,
  type FieldPath,
} from '@multiplane/apimachinery';
import type { ClaimOrExpression, JwtConfiguration } from './jwt-configuration.ts';
import { JwtExpressionError, type JwtExpression, type JwtExpressionCompiler } from './jwt-expression-compiler.ts';

/** The compiled expressions of a configuration. */
export interface CompiledJwt {
  readonly username: JwtExpression | undefined;
  readonly groups: JwtExpression | undefined;
  readonly uid: JwtExpression | undefined;
  readonly extra: readonly { readonly key: string; readonly program: JwtExpression }[];
  readonly claimRules: readonly { readonly program: JwtExpression; readonly message: string }[];
  readonly userRules: readonly { readonly program: JwtExpression; readonly message: string }[];
}

export interface ValidatedJwt {
  readonly errors: readonly FieldError[];
  /** Complete only if there are no errors. */
  readonly compiled: CompiledJwt;
}

/** Validates a JWT authenticator with the error texts of kube-apiserver and compiles its expressions. */
export function validateJwt(
  jwt: JwtConfiguration,
  path: FieldPath,
  modules: { readonly expressions: JwtExpressionCompiler; readonly disallowedIssuers: readonly string[] },
): ValidatedJwt {
  const errors: FieldError[] = [];
  const { issuer, claimMappings: mappings } = jwt;
  issuerErrors(issuer, path.child('issuer'), modules.disallowedIssuers, errors);
  const { expressions } = modules;
  const compile = (
    source: string,
    at: FieldPath,
    compiler: (source: string) => JwtExpression,
  ): JwtExpression | undefined => {
    try {
      return compiler(source);
    } catch (error) {
      if (!(error instanceof JwtExpressionError)) throw error;
      errors.push(fieldErrors.invalid(at, source, error.message));
      return undefined;
    }
  };
  const mapping = (source: string, at: FieldPath): JwtExpression | undefined =>
    compile(source, at, (given) => expressions.claimMapping(given));

  const claimRules = claimRulesOf(jwt, path.child('claimValidationRules'), errors, (source, at) =>
    compile(source, at, (given) => expressions.claimRule(given)),
  );
  const at = path.child('claimMappings');
  const username = prefixedProgram(mappings.username, at.child('username'), true, errors, mapping);
  const groups = prefixedProgram(mappings.groups, at.child('groups'), false, errors, mapping);
  let uid: JwtExpression | undefined;
  if (mappings.uid.claim !== '' && mappings.uid.expression !== '')
    errors.push(fieldErrors.invalid(at.child('uid'), '', "claim and expression can't both be set"));
  else if (mappings.uid.expression !== '') uid = mapping(mappings.uid.expression, at.child('uid', 'expression'));
  const extra = extraOf(jwt, at.child('extra'), errors, mapping);

  const verifies = [username, ...extra.map(({ program }) => program), ...claimRules.map(({ program }) => program)];
  if (
    username !== undefined &&
    username.readsClaim('email') &&
    !verifies.some((program) => program?.readsClaim('email_verified'))
  )
    errors.push(fieldErrors.invalid(at.child('username', 'expression'), mappings.username.expression, unverifiedEmail));

  const userRules = userRulesOf(jwt, path.child('userValidationRules'), errors, (source, where) =>
    compile(source, where, (given) => expressions.userRule(given)),
  );
  return { errors, compiled: { username, groups, uid, extra, claimRules, userRules } };
}

type Compile = (source: string, at: FieldPath) => JwtExpression | undefined;
const unverifiedEmail =
  'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression';

function issuerErrors(
  issuer: JwtConfiguration['issuer'],
  path: FieldPath,
  disallowed: readonly string[],
  errors: FieldError[],
): void {
  const at = path.child('url');
  if (issuer.url === '') errors.push(fieldErrors.required(at));
  else urlErrors(issuer.url, at, disallowed, errors);
  if (issuer.discoveryURL !== '') {
    const where = path.child('discoveryURL');
    if (issuer.url !== '' && withoutSlashes(issuer.url) === withoutSlashes(issuer.discoveryURL))
      errors.push(fieldErrors.invalid(where, issuer.discoveryURL, 'discoveryURL must be different from URL'));
    urlErrors(issuer.discoveryURL, where, [], errors);
  }
  audienceErrors(issuer, path, errors);
  const problem = issuer.certificateAuthority === '' ? undefined : caBundleProblem(issuer.certificateAuthority);
  if (problem !== undefined)
    errors.push(
      fieldErrors.invalid(
        path.child('certificateAuthority'),
        '<omitted>',
        'data does not contain any valid RSA or ECDSA certificates',
      ),
    );
}

function withoutSlashes(url: string): string {
  let end = url.length;
  while (end > 0 && url[end - 1] === '/') end--;
  return url.slice(0, end);
}

function urlErrors(url: string, at: FieldPath, disallowed: readonly string[], errors: FieldError[]): void {
  const invalid = (detail: string): void => void errors.push(fieldErrors.invalid(at, url, detail));
  if (disallowed.includes(url))
    invalid(`URL must not overlap with disallowed issuers: [${disallowed.toSorted().join(' ')}]`);
  const parts = splitUrl(url);
  if (parts === undefined) return invalid(`parse ${JSON.stringify(url)}: invalid URL`);
  if (parts.scheme !== 'https') invalid('URL scheme must be https');
  if (parts.user !== undefined) invalid('URL must not contain a username or password');
  if (parts.query !== '') invalid('URL must not contain a query');
  if (parts.fragment !== '') invalid('URL must not contain a fragment');
}

function audienceErrors(issuer: JwtConfiguration['issuer'], path: FieldPath, errors: FieldError[]): void {
  const at = path.child('audiences');
  const { audiences, audienceMatchPolicy: policy } = issuer;
  if (audiences.length === 0) {
    errors.push(fieldErrors.required(at, `at least one ${String(at)} is required`));
    return;
  }
  for (const [index, audience] of audiences.entries()) {
    if (audience === '') errors.push(fieldErrors.required(at.index(index)));
    if (audiences.indexOf(audience) < index) errors.push(fieldErrors.duplicate(at.index(index), audience));
  }
  if (policy === 'MatchAny') return;
  const where = path.child('audienceMatchPolicy');
  if (audiences.length > 1)
    errors.push(fieldErrors.invalid(where, policy, 'audienceMatchPolicy must be MatchAny for multiple audiences'));
  else if (policy !== '')
    errors.push(
      fieldErrors.invalid(where, policy, 'audienceMatchPolicy must be empty or MatchAny for single audience'),
    );
}

function claimRulesOf(
  { claimValidationRules: rules }: JwtConfiguration,
  path: FieldPath,
  errors: FieldError[],
  compile: Compile,
): CompiledJwt['claimRules'] {
  const compiled: { program: JwtExpression; message: string }[] = [];
  const claims = new Set<string>();
  const seen = new Set<string>();
  for (const [index, { claim, requiredValue, expression, message }] of rules.entries()) {
    const at = path.index(index);
    if (claim !== '' && expression !== '')
      errors.push(fieldErrors.invalid(at, claim, "claim and expression can't both be set"));
    else if (claim !== '') {
      if (message !== '')
        errors.push(fieldErrors.invalid(at.child('message'), message, 'may not be specified when claim is set'));
      if (claims.has(claim)) errors.push(fieldErrors.duplicate(at.child('claim'), claim));
      claims.add(claim);
    } else if (expression === '') errors.push(fieldErrors.required(at, 'claim or expression is required'));
    else {
      if (requiredValue !== '')
        errors.push(
          fieldErrors.invalid(at.child('requiredValue'), requiredValue, 'may not be specified when expression is set'),
        );
      const program = newProgram(expression, at.child('expression'), seen, errors, compile);
      if (program !== undefined) compiled.push({ program, message });
    }
  }
  return compiled;
}

function newProgram(
  expression: string,
  at: FieldPath,
  seen: Set<string>,
  errors: FieldError[],
  compile: Compile,
): JwtExpression | undefined {
  if (seen.has(expression)) {
    errors.push(fieldErrors.duplicate(at, expression));
    return undefined;
  }
  seen.add(expression);
  return compile(expression, at);
}

function prefixedProgram(
  mapping: ClaimOrExpression,
  path: FieldPath,
  required: boolean,
  errors: FieldError[],
  compile: Compile,
): JwtExpression | undefined {
  const { claim, expression, prefix } = mapping;
  if (claim !== '' && expression !== '')
    errors.push(fieldErrors.invalid(path, '', "claim and expression can't both be set"));
  else if (expression !== '') {
    if (prefix !== undefined)
      errors.push(fieldErrors.invalid(path.child('prefix'), prefix, 'may not be specified when expression is set'));
    return compile(expression, path.child('expression'));
  } else if (claim === '') {
    if (required) errors.push(fieldErrors.required(path, 'claim or expression is required'));
  } else if (prefix === undefined)
    errors.push(
      fieldErrors.required(
        path.child('prefix'),
        'prefix is required when claim is set. It can be set to an empty string to disable prefixing',
      ),
    );
  return undefined;
}

function extraOf(
  { claimMappings: { extra } }: JwtConfiguration,
  path: FieldPath,
  errors: FieldError[],
  compile: Compile,
): CompiledJwt['extra'] {
  const compiled: { key: string; program: JwtExpression }[] = [];
  const keys = new Set<string>();
  for (const [index, { key, valueExpression }] of extra.entries()) {
    const at = path.index(index);
    keyErrors(key, at.child('key'), errors);
    if (keys.has(key)) {
      errors.push(fieldErrors.duplicate(at.child('key'), key));
      continue;
    }
    keys.add(key);
    if (valueExpression === '') {
      errors.push(fieldErrors.required(at.child('valueExpression')));
      continue;
    }
    const program = compile(valueExpression, at.child('valueExpression'));
    if (program !== undefined) compiled.push({ key, program });
  }
  return compiled;
}

const pathFormat = String.raw`[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`;

/** Extra keys are lower-case and domain-prefixed (`example.org/foo`); Kubernetes' domains are reserved. */
function keyErrors(key: string, at: FieldPath, errors: FieldError[]): void {
  const slash = key.indexOf('/');
  const [host, rest] = [key.slice(0, slash), key.slice(slash + 1)];
  if (key === '') errors.push(fieldErrors.required(at));
  else if (slash <= 0 || rest === '')
    errors.push(fieldErrors.invalid(at, key, 'must be a domain-prefixed path (such as "acme.io/foo")'));
  else {
    for (const problem of validateDns1123Subdomain(host)) errors.push(fieldErrors.invalid(at, host, problem));
    if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(rest))
      errors.push(fieldErrors.invalid(at, rest, `Invalid path (regex used for validation is '${pathFormat}')`));
  }
  if (key !== key.toLowerCase()) errors.push(fieldErrors.invalid(at, key, 'must be lowercase'));
  if (slash > 0 && /(?:^|\.)(?:kubernetes|k8s)\.io$/.test(host))
    errors.push(
      fieldErrors.invalid(at, key, 'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use'),
    );
}

function userRulesOf(
  { userValidationRules: rules }: JwtConfiguration,
  path: FieldPath,
  errors: FieldError[],
  compile: Compile,
): CompiledJwt['userRules'] {
  const compiled: { program: JwtExpression; message: string }[] = [];
  const seen = new Set<string>();
  for (const [index, { expression, message }] of rules.entries()) {
    const at = path.index(index).child('expression');
    if (expression === '') {
      errors.push(fieldErrors.required(at));
      continue;
    }
    const program = newProgram(expression, at, seen, errors, compile);
    if (program !== undefined) compiled.push({ program, message });
  }
  return compiled;
}

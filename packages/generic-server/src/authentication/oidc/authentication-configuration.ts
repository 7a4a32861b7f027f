import {
  fieldErrors,
  FieldPath,
  fieldErrorText,
  getOwn,
  isJsonObject,
  parseYaml,
  type FieldError,
  type Json,
} from '@multiplane/apimachinery';
import { readJwtConfiguration, type JwtConfiguration } from './jwt-configuration.ts';
import type { JwtExpressions } from './jwt-expressions.ts';
import { validateJwt, type CompiledJwt } from './validate-jwt.ts';

/** What an AuthenticationConfiguration says, ready for use. */
export interface AuthenticationConfiguration {
  readonly jwt: readonly { readonly configuration: JwtConfiguration; readonly compiled: CompiledJwt }[];
  /** Absent: the flag decides. */
  readonly anonymous?: { readonly enabled: boolean; readonly paths: readonly string[] } | undefined;
}

export interface JwtValidationModules {
  readonly expressions: JwtExpressions;
  /** Issuers that somebody else answers for: those of service accounts. */
  readonly disallowedIssuers: readonly string[];
}

const group = 'apiserver.config.k8s.io';
const versions = ['v1', 'v1beta1'].map((version) => `${group}/${version}`);
const maxAuthenticators = 64;

/** Fields by path without indexes; an object of it takes these and no others. */
const fieldsOf: Readonly<Record<string, readonly string[]>> = {
  '': ['apiVersion', 'kind', 'jwt', 'anonymous'],
  jwt: ['issuer', 'claimValidationRules', 'claimMappings', 'userValidationRules'],
  'jwt.issuer': [
    'url',
    'discoveryURL',
    'certificateAuthority',
    'audiences',
    'audienceMatchPolicy',
    'egressSelectorType',
  ],
  'jwt.claimValidationRules': ['claim', 'requiredValue', 'expression', 'message'],
  'jwt.claimMappings': ['username', 'groups', 'uid', 'extra'],
  'jwt.claimMappings.username': ['claim', 'prefix', 'expression'],
  'jwt.claimMappings.groups': ['claim', 'prefix', 'expression'],
  'jwt.claimMappings.uid': ['claim', 'expression'],
  'jwt.claimMappings.extra': ['key', 'valueExpression'],
  'jwt.userValidationRules': ['expression', 'message'],
  anonymous: ['enabled', 'conditions'],
  'anonymous.conditions': ['path'],
};

/**
 * Reads the file of `--authentication-config` (K7.2): strictly, since a field that is misspelt would leave a door open.
 * Throws an Error with Kubernetes' messages.
 */
export function parseAuthenticationConfiguration(
  text: string,
  modules: JwtValidationModules,
): AuthenticationConfiguration {
  const document = parseYaml(text);
  if (!isJsonObject(document)) throw new Error('the file is empty or no object');
  const { kind, apiVersion } = document;
  if (kind !== 'AuthenticationConfiguration' || typeof apiVersion !== 'string' || !versions.includes(apiVersion))
    throw new Error(
      `no kind ${JSON.stringify(kind ?? '')} is registered for version ${JSON.stringify(apiVersion ?? '')}; it must be AuthenticationConfiguration of ${versions.join(' or ')}`,
    );
  const unknown = unknownFields(document, '', '');
  if (unknown.length > 0)
    throw new Error(
      `strict decoding error: ${unknown.map((field) => `unknown field ${JSON.stringify(field)}`).join(', ')}`,
    );
  const jwt = getOwn(document, 'jwt');
  const anonymous = anonymousOf(getOwn(document, 'anonymous'));
  const { errors, entries } = judgeAll(Array.isArray(jwt) ? jwt.map(readJwtConfiguration) : [], modules);
  if (anonymous !== undefined && !anonymous.enabled && anonymous.paths.length > 0)
    errors.push(
      fieldErrors.invalid(
        FieldPath.of('anonymous', 'conditions'),
        anonymous.paths.map((path) => ({ Path: path })),
        'enabled should be set to true when conditions are defined',
      ),
    );
  refuse(errors);
  return { jwt: entries, anonymous };
}

/** The same for one that flags describe. Throws an Error. */
export function checkedJwt(
  configuration: JwtConfiguration,
  modules: JwtValidationModules,
): AuthenticationConfiguration {
  const { errors, entries } = judgeAll([configuration], modules);
  refuse(errors);
  return { jwt: entries };
}

function judgeAll(
  jwt: readonly JwtConfiguration[],
  modules: JwtValidationModules,
): { readonly errors: FieldError[]; readonly entries: AuthenticationConfiguration['jwt'] } {
  const root = FieldPath.of('jwt');
  if (jwt.length > maxAuthenticators)
    return { errors: [fieldErrors.tooMany(root, jwt.length, maxAuthenticators)], entries: [] };
  const errors: FieldError[] = [];
  const seen = { url: new Set<string>(), discoveryURL: new Set<string>() };
  const entries = jwt.map((configuration, index) => {
    const judged = validateJwt(configuration, root.index(index), modules);
    errors.push(...judged.errors);
    for (const name of ['url', 'discoveryURL'] as const) {
      const url = configuration.issuer[name];
      if (url !== '' && seen[name].has(url))
        errors.push(fieldErrors.duplicate(root.index(index).child('issuer', name), url));
      seen[name].add(url);
    }
    return { configuration, compiled: judged.compiled };
  });
  return { errors, entries };
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const texts = errors.map(fieldErrorText);
  throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`);
}

function anonymousOf(value: Json | undefined): AuthenticationConfiguration['anonymous'] {
  if (!isJsonObject(value)) return undefined;
  const conditions = getOwn(value, 'conditions');
  const paths = (Array.isArray(conditions) ? conditions : []).map((condition) => {
    const path = isJsonObject(condition) ? getOwn(condition, 'path') : undefined;
    return typeof path === 'string' ? path : '';
  });
  return { enabled: getOwn(value, 'enabled') === true, paths };
}

function unknownFields(value: Json, kind: string, path: string): string[] {
  const known = fieldsOf[kind];
  if (known === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((item, index) => unknownFields(item, kind, `${path}[${index}]`));
  if (!isJsonObject(value)) return [];
  const inside = (prefix: string, name: string): string => (prefix === '' ? name : `${prefix}.${name}`);
  return Object.keys(value).flatMap((name) =>
    known.includes(name)
      ? unknownFields(getOwn(value, name) as Json, inside(kind, name), inside(path, name))
      : [inside(path, name)],
  );
}

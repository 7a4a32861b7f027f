import { getOwn, setOwn, type Json, type JsonObject, type UserInfo } from '@multiplane/apimachinery';
import type { CelProgram, CelValue } from '@multiplane/schema';
import type { Clock } from '@multiplane/component-base';
import type { AuthenticationResponse, TokenAuthenticator } from '../authenticator.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import type { ClaimOrExpression, JwtConfiguration } from './jwt-configuration.ts';
import { claimsValue, evaluated, textOf, textsOf, type JwtExpressions } from './jwt-expressions.ts';
import type { CompiledJwt } from './validate-jwt.ts';
import { allSigningAlgorithms, audiencesOf, checkTimes, claimedIssuer, verifiedClaims } from './verify-token.ts';

export interface OidcAuthenticatorOptions {
  /** One without errors. */
  readonly configuration: JwtConfiguration;
  readonly compiled: CompiledJwt;
  /** Default: all that are safe. */
  readonly algorithms?: readonly string[] | undefined;
  /** The token itself must be for one of the audiences asked for (C7.6), not only for one of the configuration. */
  readonly checksAudiences?: boolean | undefined;
}

/**
 * JSON web tokens of one OpenID Connect issuer (K7.2). A token of another issuer is nobody's here. For one of this
 * issuer, in this order: signature, times, audience, user name, groups, uid, extra fields, required claims, rules over
 * claims, rules over the user; the first that fails refuses the token. Why is told in the error, for the log alone.
 */
export class OidcAuthenticator implements TokenAuthenticator {
  readonly #options: OidcAuthenticatorOptions;
  readonly #keys: IssuerKeys;
  readonly #expressions: JwtExpressions;
  readonly #clock: Clock;
  readonly #usesExpressions: boolean;

  constructor(
    options: OidcAuthenticatorOptions,
    modules: { readonly keys: IssuerKeys; readonly expressions: JwtExpressions; readonly clock: Clock },
  ) {
    this.#options = options;
    this.#keys = modules.keys;
    this.#expressions = modules.expressions;
    this.#clock = modules.clock;
    const { username, groups, uid, extra, claimRules } = options.compiled;
    this.#usesExpressions =
      [username, groups, uid].some((program) => program !== undefined) || extra.length > 0 || claimRules.length > 0;
  }

  async authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResponse | undefined> {
    const { configuration, algorithms = allSigningAlgorithms } = this.#options;
    const { issuer } = configuration;
    if (claimedIssuer(token) !== issuer.url) return undefined;
    const claims = await verifiedClaims(token, this.#keys, algorithms);
    if (getOwn(claims, 'iss') !== issuer.url) throw new Error('oidc: verify token: the issuer of the token is another');
    checkTimes(claims, this.#clock.now());
    const own = audiencesOf(claims);
    if (!issuer.audiences.some((audience) => own.includes(audience)))
      throw new Error(
        `oidc: verify token: oidc: expected audience in ${listText(issuer.audiences.toSorted())} got ${listText(own)}`,
      );
    const accepted = this.#options.checksAudiences === true ? audiences.filter((one) => own.includes(one)) : audiences;
    if (accepted.length === 0 && audiences.length > 0)
      throw new Error(`token audiences ${listText(own)} is invalid for the target audiences ${listText(audiences)}`);
    return { user: this.#userOf(claims), audiences: accepted };
  }

  #userOf(claims: JsonObject): UserInfo {
    const { configuration, compiled } = this.#options;
    const { claimMappings: mappings, claimValidationRules } = configuration;
    const variables: Record<string, CelValue> = this.#usesExpressions ? { claims: claimsValue(claims) } : {};
    const name =
      compiled.username === undefined
        ? userName(claims, mappings.username)
        : during('username claim expression', () =>
            textOf(evaluated(compiled.username as CelProgram, variables), 'username'),
          );
    if (name === '') throw new Error('oidc: the user name of the token is empty');
    const groups =
      compiled.groups === undefined
        ? groupsOf(claims, mappings.groups)
        : during('group claim expression', () => textsOf(evaluated(compiled.groups as CelProgram, variables)));
    const uid =
      compiled.uid === undefined
        ? mappings.uid.claim === ''
          ? ''
          : textClaim(claims, mappings.uid.claim, `parse uid claim ${JSON.stringify(mappings.uid.claim)}`)
        : during('uid claim expression', () => textOf(evaluated(compiled.uid as CelProgram, variables), 'uid'));
    const extra: Record<string, readonly string[]> = Object.create(null) as Record<string, readonly string[]>;
    for (const { key, program } of compiled.extra) {
      const values = during('extra claim expression', () => textsOf(evaluated(program, variables)));
      if (values.length > 0) extra[key] = values;
    }
    for (const { claim, requiredValue } of claimValidationRules)
      if (claim !== '') checkClaim(claims, claim, requiredValue);
    checkRules(compiled.claimRules, variables, 'claim validation expression');
    const user: UserInfo = { name, uid, groups: [...groups], extra };
    if (compiled.userRules.length > 0)
      checkRules(
        compiled.userRules,
        { user: this.#expressions.userValue(userObject(user)) },
        'user info validation rule',
      );
    return user;
  }
}

const listText = (list: readonly string[]): string => `[${list.map((item) => JSON.stringify(item)).join(' ')}]`;

function during<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new Error(`oidc: error evaluating ${what}: ${(cause as Error).message}`, { cause });
  }
}

function textClaim(claims: JsonObject, claim: string, what: string): string {
  const value = getOwn(claims, claim);
  if (value === undefined) throw new Error(`oidc: ${what}: claim not present`);
  if (typeof value !== 'string') throw new Error(`oidc: ${what}: the claim is not a string`);
  return value;
}

function userName(claims: JsonObject, { claim, prefix = '' }: ClaimOrExpression): string {
  const name = textClaim(claims, claim, `parse username claims ${JSON.stringify(claim)}`);
  const verified = claim === 'email' ? getOwn(claims, 'email_verified') : undefined;
  if (verified !== undefined && typeof verified !== 'boolean')
    throw new Error("oidc: parse 'email_verified' claim: the claim is not a boolean");
  if (verified === false) throw new Error('oidc: email not verified');
  return prefix + name;
}

/** One group or a list of them; a token without the claim has none. */
function groupsOf(claims: JsonObject, { claim, prefix = '' }: ClaimOrExpression): readonly string[] {
  const value: Json | undefined = claim === '' ? undefined : getOwn(claims, claim);
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map((group) => {
    if (typeof group !== 'string')
      throw new Error(`oidc: parse groups claim ${JSON.stringify(claim)}: not a string or a list of strings`);
    return prefix + group;
  });
}

function checkClaim(claims: JsonObject, claim: string, wanted: string): void {
  if (getOwn(claims, claim) === undefined) throw new Error(`oidc: required claim ${claim} not present in ID token`);
  const value = textClaim(claims, claim, `parse claim ${claim}`);
  if (value !== wanted)
    throw new Error(`oidc: required claim ${claim} value does not match. Got = ${value}, want = ${wanted}`);
}

function checkRules(
  rules: CompiledJwt['claimRules'],
  variables: Readonly<Record<string, CelValue>>,
  what: string,
): void {
  for (const { program, message } of rules) {
    const value = during(what, () => evaluated(program, variables));
    if (value !== true)
      throw new Error(`oidc: error evaluating ${what}: validation expression '${program.source}' failed: ${message}`);
  }
}

/** As `user` in rules: a UserInfo on the wire, without what is empty. */
function userObject({ name, uid, groups, extra }: UserInfo): JsonObject {
  const extras: JsonObject = {};
  for (const key of Object.keys(extra)) setOwn(extras, key, [...(extra[key] ?? [])]);
  return {
    ...(name === '' ? {} : { username: name }),
    ...(uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups: [...groups] }),
    ...(Object.keys(extras).length === 0 ? {} : { extra: extras }),
  };
}

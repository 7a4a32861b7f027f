import { getOwn, setOwn, type Json, type JsonObject, type UserInfo } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import type { AuthenticationResponse, TokenAuthenticator } from '../authenticator.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import type { ClaimOrExpression, JwtConfiguration } from './jwt-configuration.ts';
import {
  maxTokenCost,
  type JwtBudget,
  type JwtExpressionCompiler,
  type JwtVariables,
} from './jwt-expression-compiler.ts';
import type { CompiledJwt } from './validate-jwt.ts';
import { allSigningAlgorithms, audiencesOf, checkTimes, claimedIssuer, verifiedClaims } from './verify-token.ts';

export interface OidcAuthenticatorOptions {
  /** A validated configuration. */
  readonly configuration: JwtConfiguration;
  readonly compiled: CompiledJwt;
  /** Accepted signature algorithms; default: all asymmetric ones. */
  readonly algorithms?: readonly string[] | undefined;
  /** The token must contain a requested audience, not only one of the configuration (kcp's workspace authentication). */
  readonly checksAudiences?: boolean | undefined;
}

/**
 * Authenticates JSON web tokens of one OpenID Connect issuer; tokens of other issuers are not authenticated. Checks run in the
 * order of kube-apiserver: signature, times, audience, user name, groups, uid, extra fields, required claims, claim rules,
 * user rules. The error of the first failed check carries the reason for the log; the client only gets 401.
 */
export class OidcAuthenticator implements TokenAuthenticator {
  readonly #options: OidcAuthenticatorOptions;
  readonly #keys: IssuerKeys;
  readonly #expressions: JwtExpressionCompiler;
  readonly #clock: Clock;
  readonly #usesExpressions: boolean;

  constructor(
    options: OidcAuthenticatorOptions,
    modules: {
      readonly keys: IssuerKeys;
      /** The compiler of `options.compiled`. */
      readonly expressions: JwtExpressionCompiler;
      readonly clock: Clock;
    },
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
    if (getOwn(claims, 'iss') !== issuer.url) throw new Error('oidc: verify token: the verified issuer does not match');
    checkTimes(claims, this.#clock.now());
    const tokenAudiences = audiencesOf(claims);
    if (!issuer.audiences.some((audience) => tokenAudiences.includes(audience)))
      throw new Error(
        `oidc: verify token: oidc: expected audience in ${listText(issuer.audiences.toSorted())} got ${listText(tokenAudiences)}`,
      );
    const accepted =
      this.#options.checksAudiences === true ? audiences.filter((one) => tokenAudiences.includes(one)) : audiences;
    if (accepted.length === 0 && audiences.length > 0)
      throw new Error(
        `token audiences ${listText(tokenAudiences)} is invalid for the target audiences ${listText(audiences)}`,
      );
    return { user: this.#userOf(claims), audiences: accepted };
  }

  #userOf(claims: JsonObject): UserInfo {
    const { configuration, compiled } = this.#options;
    const { claimMappings: mappings, claimValidationRules } = configuration;
    const budget: JwtBudget = { remaining: maxTokenCost };
    const variables: JwtVariables = this.#usesExpressions
      ? this.#expressions.claimVariables(claims, budget)
      : { values: {}, budget };
    const { username } = compiled;
    const name =
      username === undefined
        ? userName(claims, mappings.username)
        : evaluate('username claim expression', () => username.evaluateString(variables, 'username'));
    if (name === '') throw new Error('oidc: the user name of the token is empty');
    const groupsExpression = compiled.groups;
    const groups =
      groupsExpression === undefined
        ? groupsOf(claims, mappings.groups)
        : evaluate('group claim expression', () => groupsExpression.evaluateStrings(variables));
    const uidExpression = compiled.uid;
    const uid =
      uidExpression === undefined
        ? mappings.uid.claim === ''
          ? ''
          : textClaim(claims, mappings.uid.claim, `parse uid claim ${JSON.stringify(mappings.uid.claim)}`)
        : evaluate('uid claim expression', () => uidExpression.evaluateString(variables, 'uid'));
    const extra: Record<string, readonly string[]> = Object.create(null) as Record<string, readonly string[]>;
    for (const { key, program } of compiled.extra) {
      const values = evaluate('extra claim expression', () => program.evaluateStrings(variables));
      if (values.length > 0) extra[key] = values;
    }
    for (const { claim, requiredValue } of claimValidationRules)
      if (claim !== '') checkClaim(claims, claim, requiredValue);
    checkRules(compiled.claimRules, variables, 'claim validation expression');
    const user: UserInfo = { name, uid, groups: [...groups], extra };
    if (compiled.userRules.length > 0)
      checkRules(
        compiled.userRules,
        this.#expressions.userVariables(userObject(user), budget),
        'user info validation rule',
      );
    return user;
  }
}

const listText = (list: readonly string[]): string => `[${list.map((item) => JSON.stringify(item)).join(' ')}]`;

function evaluate<T>(what: string, work: () => T): T {
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

/** The groups of a claim with a string or a list of strings; none without the claim. */
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

function checkRules(rules: CompiledJwt['claimRules'], variables: JwtVariables, what: string): void {
  for (const { program, message } of rules) {
    if (!evaluate(what, () => program.evaluateBoolean(variables)))
      throw new Error(`oidc: error evaluating ${what}: validation expression '${program.source}' failed: ${message}`);
  }
}

/** The variable `user` of rules: a UserInfo in JSON without empty fields. */
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

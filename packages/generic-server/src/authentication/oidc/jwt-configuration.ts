import { getOwn, isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';

/** A claim with a prefix, or an expression over all claims. Empty strings mean absent. */
export interface ClaimOrExpression {
  readonly claim: string;
  readonly expression: string;
  /** Undefined: absent; unlike the empty prefix. */
  readonly prefix?: string | undefined;
}

/** An entry of `jwt` in an AuthenticationConfiguration (KEP-3331) or a WorkspaceAuthenticationConfiguration of kcp. */
export interface JwtConfiguration {
  readonly issuer: {
    readonly url: string;
    readonly discoveryURL: string;
    /** PEM; empty: the root certificates of the system. */
    readonly certificateAuthority: string;
    readonly audiences: readonly string[];
    readonly audienceMatchPolicy: string;
  };
  readonly claimValidationRules: readonly {
    readonly claim: string;
    readonly requiredValue: string;
    readonly expression: string;
    readonly message: string;
  }[];
  readonly claimMappings: {
    readonly username: ClaimOrExpression;
    readonly groups: ClaimOrExpression;
    readonly uid: ClaimOrExpression;
    readonly extra: readonly { readonly key: string; readonly valueExpression: string }[];
  };
  readonly userValidationRules: readonly { readonly expression: string; readonly message: string }[];
}

/** Reads an entry. Absent values and values of another type become empty; `validateJwt` reports them. */
export function readJwtConfiguration(value: Json): JwtConfiguration {
  const issuer = objectIn(value, 'issuer');
  const mappings = objectIn(value, 'claimMappings');
  return {
    issuer: {
      url: textIn(issuer, 'url'),
      discoveryURL: textIn(issuer, 'discoveryURL'),
      certificateAuthority: textIn(issuer, 'certificateAuthority'),
      audiences: listIn(issuer, 'audiences').map((audience) => (typeof audience === 'string' ? audience : '')),
      audienceMatchPolicy: textIn(issuer, 'audienceMatchPolicy'),
    },
    claimValidationRules: listIn(value, 'claimValidationRules').map((rule) => ({
      claim: textIn(rule, 'claim'),
      requiredValue: textIn(rule, 'requiredValue'),
      expression: textIn(rule, 'expression'),
      message: textIn(rule, 'message'),
    })),
    claimMappings: {
      username: claimOrExpression(objectIn(mappings, 'username')),
      groups: claimOrExpression(objectIn(mappings, 'groups')),
      uid: claimOrExpression(objectIn(mappings, 'uid')),
      extra: listIn(mappings, 'extra').map((mapping) => ({
        key: textIn(mapping, 'key'),
        valueExpression: textIn(mapping, 'valueExpression'),
      })),
    },
    userValidationRules: listIn(value, 'userValidationRules').map((rule) => ({
      expression: textIn(rule, 'expression'),
      message: textIn(rule, 'message'),
    })),
  };
}

function claimOrExpression(value: JsonObject): ClaimOrExpression {
  const prefix = getOwn(value, 'prefix');
  return {
    claim: textIn(value, 'claim'),
    expression: textIn(value, 'expression'),
    ...(typeof prefix === 'string' ? { prefix } : {}),
  };
}

const memberOf = (value: Json, name: string): Json | undefined =>
  isJsonObject(value) ? getOwn(value, name) : undefined;
function textIn(value: Json, name: string): string {
  const text = memberOf(value, name);
  return typeof text === 'string' ? text : '';
}
function objectIn(value: Json, name: string): JsonObject {
  const object = memberOf(value, name);
  return isJsonObject(object) ? object : {};
}
function listIn(value: Json, name: string): readonly Json[] {
  const list = memberOf(value, name);
  return Array.isArray(list) ? list : [];
}

import { describe, expect, test } from '@jest/globals';
import { FieldPath, fieldErrorBody, type Json, type JsonObject } from '@multiplane/apimachinery';
import { readJwtConfiguration, validateJwt } from '@multiplane/generic-server';
import { JwtCelCompiler } from './jwt-cel-compiler.ts';

const expressions = new JwtCelCompiler();
function complaints(jwt: Json): string[] {
  const { errors } = validateJwt(readJwtConfiguration(jwt), FieldPath.of('jwt').index(0), {
    expressions,
    disallowedIssuers: ['https://kcp.default.svc'],
  });
  return errors.map((error) => `${error.field}: ${fieldErrorBody(error)}`);
}
const issuer = { url: 'https://issuer.example.com', audiences: ['a'] };
const username = { claim: 'sub', prefix: '' };
const withMappings = (more: JsonObject): Json => ({ issuer, claimMappings: { username, ...more } });

test('a configuration that is in order', () => {
  expect(complaints({ issuer, claimMappings: { username } })).toEqual([]);
});

test.each<[string, JsonObject, string[]]>([
  ['no url', { url: '' }, ['jwt[0].issuer.url: Required value']],
  [
    'no https',
    { url: 'http://plain.example.com' },
    ['jwt[0].issuer.url: Invalid value: "http://plain.example.com": URL scheme must be https'],
  ],
  [
    'more than a place',
    { url: 'https://u:p@h/?q=1#f' },
    [
      'jwt[0].issuer.url: Invalid value: "https://u:p@h/?q=1#f": URL must not contain a username or password',
      'jwt[0].issuer.url: Invalid value: "https://u:p@h/?q=1#f": URL must not contain a query',
      'jwt[0].issuer.url: Invalid value: "https://u:p@h/?q=1#f": URL must not contain a fragment',
    ],
  ],
  [
    'the issuer of service accounts',
    { url: 'https://kcp.default.svc' },
    [
      'jwt[0].issuer.url: Invalid value: "https://kcp.default.svc": URL must not overlap with disallowed issuers: [https://kcp.default.svc]',
    ],
  ],
  [
    'a discovery document at the issuer itself',
    { discoveryURL: 'https://issuer.example.com/' },
    [
      'jwt[0].issuer.discoveryURL: Invalid value: "https://issuer.example.com/": discoveryURL must be different from URL',
    ],
  ],
  [
    'no audience',
    { audiences: [] },
    ['jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required'],
  ],
  [
    'many audiences without a policy',
    { audiences: ['a', 'a', ''] },
    [
      'jwt[0].issuer.audiences[1]: Duplicate value: "a"',
      'jwt[0].issuer.audiences[2]: Required value',
      'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences',
    ],
  ],
  [
    'authorities that are none',
    { certificateAuthority: 'nonsense' },
    [
      'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid RSA or ECDSA certificates',
    ],
  ],
])('an issuer with %s', (_what, more, expected) => {
  expect(complaints({ issuer: { ...issuer, ...more }, claimMappings: { username } })).toEqual(expected);
});

describe('mappings', () => {
  test.each<[string, JsonObject, string[]]>([
    [
      'no user name',
      { username: {} },
      ['jwt[0].claimMappings.username: Required value: claim or expression is required'],
    ],
    [
      'a claim without a prefix',
      { username: { claim: 'sub' } },
      [
        'jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing',
      ],
    ],
    [
      'a claim and an expression',
      { groups: { claim: 'a', expression: 'claims.a', prefix: '' }, uid: { claim: 'a', expression: 'b' } },
      [
        'jwt[0].claimMappings.groups: Invalid value: "": claim and expression can\'t both be set',
        'jwt[0].claimMappings.uid: Invalid value: "": claim and expression can\'t both be set',
      ],
    ],
    [
      'keys of others',
      {
        extra: [
          { key: 'foo', valueExpression: 'claims.a' },
          { key: 'x.k8s.io/A', valueExpression: 'claims.a' },
        ],
      },
      [
        'jwt[0].claimMappings.extra[0].key: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")',
        'jwt[0].claimMappings.extra[1].key: Invalid value: "x.k8s.io/A": must be lowercase',
        'jwt[0].claimMappings.extra[1].key: Invalid value: "x.k8s.io/A": k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use',
      ],
    ],
  ])('%s', (_what, more, expected) => {
    expect(complaints(withMappings(more))).toEqual(expected);
  });

  test('an address as user name must be a verified one', () => {
    const jwt = (expression: string): Json => withMappings({ username: { expression } });
    expect(complaints(jwt('claims.email'))).toHaveLength(1);
    expect(complaints(jwt('claims.?email.orValue("")'))).toHaveLength(1);
    expect(complaints(jwt('claims.email_verified ? claims.email : ""'))).toEqual([]);
  });
});

test('expressions must compile, and rules be rules', () => {
  const [broken, notBoolean, unknown] = complaints({
    issuer,
    claimMappings: { username: { expression: 'nonsense(' } },
    claimValidationRules: [{ expression: '"text"', message: 'm' }],
    userValidationRules: [{ expression: 'user.nothing == ""', message: 'm' }],
  }).toSorted();
  expect(broken).toContain(
    'jwt[0].claimMappings.username.expression: Invalid value: "nonsense(": compilation failed: ERROR: <input>:1:10: Syntax error',
  );
  expect(notBoolean).toBe(
    'jwt[0].claimValidationRules[0].expression: Invalid value: "\\"text\\"": must evaluate to bool',
  );
  expect(unknown).toContain("undefined field 'nothing'");
});

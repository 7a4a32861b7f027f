import { createServer, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { encodeYaml, parseJson, type JsonObject } from '@multiplane/apimachinery';
import { CertificateWatcher, parseOptions, silentLogger } from '@multiplane/component-base';
import { noJwtExpressions } from './oidc/jwt-expression-compiler.ts';
import { UnionTokenAuthenticator } from './bearer-token.ts';
import { OidcIssuer } from '@multiplane/testing/serving';
import { externalTokens, type ExternalTokens } from './external-tokens.ts';
import { externalTokenOptionTable } from './external-token-options.ts';
import { FakeClock } from '@multiplane/testing';

let issuer: OidcIssuer;
let folder: string;
let clock: FakeClock;
let watcher: CertificateWatcher;
const opened: ExternalTokens[] = [];
beforeAll(async () => {
  issuer = await OidcIssuer.start();
});
afterAll(() => issuer.stop());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tokens-'));
  clock = new FakeClock();
  watcher = new CertificateWatcher({}, { clock, logger: silentLogger });
});
afterEach(async () => {
  for (const configured of opened.splice(0)) await configured.runnable.stop();
  rmSync(folder, { recursive: true });
});

const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
function configured(...flags: string[]): ExternalTokens {
  const { values: options } = parseOptions(externalTokenOptionTable, { args: flags });
  const made = externalTokens(
    { ...options, apiAudiences: ['api'], serviceAccountIssuer: ['https://kcp.default.svc'] },
    { watcher, clock, expressions: noJwtExpressions },
  );
  opened.push(made);
  return made;
}
async function userOf({ authenticators }: ExternalTokens, token: string): Promise<unknown> {
  return (await new UnionTokenAuthenticator({ authenticators }).authenticateToken(token, ['api']))?.user;
}
const token = (claims: JsonObject = {}): Promise<string> => issuer.token(claims, clock.now());

describe('the flags --oidc-*', () => {
  test('configure one issuer', async () => {
    const made = configured(
      `--oidc-issuer-url=${issuer.url}`,
      '--oidc-client-id=a',
      `--oidc-ca-file=${file('ca.pem', issuer.ca)}`,
      '--oidc-signing-algs=ES256',
      '--oidc-groups-claim=groups',
      '--oidc-groups-prefix=g:',
      '--oidc-required-claim=hd=example.com',
    );
    expect(await userOf(made, await token({ hd: 'example.com', groups: ['x'] }))).toMatchObject({
      name: `${issuer.url}#ann`,
      groups: ['g:x'],
    });
    await expect(userOf(made, await token({ hd: 'other' }))).rejects.toThrow('required claim hd');
  });

  test('accept only the configured algorithms', async () => {
    const made = configured(`--oidc-issuer-url=${issuer.url}`, '--oidc-client-id=a');
    await expect(userOf(made, await token())).rejects.toThrow('unsupported algorithm, expected [RS256] got "ES256"');
  });

  test.each<[string[], string]>([
    [['--oidc-issuer-url=https://x.example.com'], 'oidc-issuer-url and oidc-client-id must be specified together'],
    [['--oidc-issuer-url=http://x.example.com', '--oidc-client-id=a'], 'URL scheme must be https'],
    [
      ['--oidc-issuer-url=https://kcp.default.svc', '--oidc-client-id=a'],
      'URL must not overlap with disallowed issuers: [https://kcp.default.svc]',
    ],
    [
      ['--oidc-issuer-url=https://x.example.com', '--oidc-client-id=a', '--oidc-signing-algs=HS256'],
      'unsupported signing alg: HS256',
    ],
    [
      ['--oidc-issuer-url=https://x.example.com', '--oidc-client-id=a', '--authentication-config=x'],
      'authentication-config file and oidc-* flags are mutually exclusive',
    ],
  ])('%j are refused', (flags, message) => {
    expect(() => configured(...flags)).toThrow(message);
  });
});

describe('the file of --authentication-config', () => {
  const configuration = (more: JsonObject = {}, prefix = 'x:'): string =>
    encodeYaml({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthenticationConfiguration',
      jwt: [
        {
          issuer: { url: issuer.url, certificateAuthority: issuer.ca, audiences: ['a'] },
          claimMappings: { username: { claim: 'sub', prefix } },
        },
      ],
      ...more,
    });

  test('is reloaded; an invalid change keeps the previous configuration', async () => {
    const path = file('auth.yaml', configuration());
    const made = configured(`--authentication-config=${path}`);
    expect(await userOf(made, await token())).toMatchObject({ name: 'x:ann' });
    for (const [content, name] of [
      ['kind: nonsense', 'x:bob'],
      [configuration({}, 'changed:'), 'changed:bob'],
    ] as const) {
      writeFileSync(path, content);
      watcher.check();
      await clock.advance(10_000);
      expect(await userOf(made, await token({ sub: 'bob' }))).toMatchObject({ name });
    }
  });

  test('configures the paths of anonymous requests', () => {
    const anonymous = { enabled: true, conditions: [{ path: '/healthz' }] };
    const made = configured(`--authentication-config=${file('auth.yaml', configuration({ anonymous }))}`);
    const asked = (path: string): unknown => made.anonymous?.({ path } as never);
    expect([asked('/healthz'), asked('/healthz/x'), asked('/api')]).toEqual([true, false, false]);
  });

  test.each<[string, JsonObject, string]>([
    ['an unknown field', { jwtt: [] }, 'strict decoding error: unknown field "jwtt"'],
    [
      'a field within that is misspelt',
      { jwt: [{ issuer: { url: 'https://x', audience: 'a' } }] },
      'unknown field "jwt[0].issuer.audience"',
    ],
    ['another version', { apiVersion: 'apiserver.config.k8s.io/v2' }, 'is registered for version'],
    [
      'conditions of what is closed',
      { anonymous: { enabled: false, conditions: [{ path: '/x' }] } },
      'enabled should be set to true when conditions are defined',
    ],
  ])('is refused for %s', (_what, more, message) => {
    const path = file('auth.yaml', configuration(more));
    expect(() => configured(`--authentication-config=${path}`)).toThrow(message);
  });

  test('is rejected for a duplicate issuer', () => {
    const [entry] = (parseJson(JSON.stringify({ jwt: [{ issuer: { url: 'https://x' } }] })) as { jwt: JsonObject[] })
      .jwt;
    const path = file('auth.yaml', configuration({ jwt: [entry as JsonObject, entry as JsonObject] }));
    expect(() => configured(`--authentication-config=${path}`)).toThrow(
      'jwt[1].issuer.url: Duplicate value: "https://x"',
    );
  });
});

describe('a webhook for tokens', () => {
  let webhook: Server;
  let reviews: JsonObject[];
  let status: JsonObject;
  beforeEach(async () => {
    reviews = [];
    webhook = createServer((request, response) => void answer(request).then((body) => response.end(body)));
    webhook.listen(0, '127.0.0.1');
    await once(webhook, 'listening');
  });
  afterEach(() => {
    webhook.closeAllConnections();
    webhook.close();
  });
  async function answer(request: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const review = parseJson(Buffer.concat(chunks).toString()) as JsonObject;
    reviews.push({ path: request.url ?? '', ...review });
    return JSON.stringify({ ...review, status });
  }
  const webhookFlags = (...more: string[]): string[] => {
    const kubeconfig = file(
      'webhook.kubeconfig',
      encodeYaml({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'w',
        clusters: [
          { name: 'w', cluster: { server: `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/review` } },
        ],
        contexts: [{ name: 'w', context: { cluster: 'w', user: 'w' } }],
        users: [{ name: 'w', user: {} }],
      }),
    );
    return [`--authentication-token-webhook-config-file=${kubeconfig}`, ...more];
  };

  test('authenticates tokens and caches the result', async () => {
    status = { authenticated: true, user: { username: 'ann', uid: '1', groups: ['g'], extra: { Key: ['v'] } } };
    const made = configured(...webhookFlags());
    const users = await Promise.all([1, 2].map(() => userOf(made, 'secret')));
    await clock.advance(60_000);
    users.push(await userOf(made, 'secret'));
    for (const user of users)
      expect(user).toMatchObject({ name: 'ann', uid: '1', groups: ['g'], extra: { key: ['v'] } });
    expect(reviews).toMatchObject([
      {
        path: '/review',
        apiVersion: 'authentication.k8s.io/v1beta1',
        kind: 'TokenReview',
        spec: { token: 'secret', audiences: ['api'] },
      },
    ]);
    await clock.advance(60_000);
    await userOf(made, 'secret');
    expect(reviews).toHaveLength(2);
  });

  test('may not know a token, report an error, or return other audiences', async () => {
    const made = configured(...webhookFlags('--authentication-token-webhook-version=v1'));
    status = { authenticated: false };
    expect(await userOf(made, 'one')).toBeUndefined();
    status = { authenticated: false, error: 'it is over' };
    await expect(userOf(made, 'two')).rejects.toThrow('it is over');
    status = { authenticated: true, user: { username: 'ann' }, audiences: ['elsewhere'] };
    expect(await userOf(made, 'three')).toBeUndefined();
    expect(reviews[0]).toMatchObject({ apiVersion: 'authentication.k8s.io/v1' });
  });
});

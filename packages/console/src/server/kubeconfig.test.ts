import { expect, test } from '@jest/globals';
import { parseYaml } from '@multiplane/apimachinery';
import { fixedCredential } from './credential.ts';
import { userKubeconfig } from './kubeconfig.ts';
import type { LoginKind, Session } from './session-store.ts';

const session = (kind: LoginKind): Session => ({
  kind,
  id: 'session-id',
  csrfToken: 'csrf',
  user: { name: 'alice', groups: [] },
  credential: fixedCredential({ kind: 'token', token: 'the-token' }),
  expiresAt: 0,
  signal: new AbortController().signal,
  inFlight: 0,
});
const options = { cluster: 'root:team', server: 'https://api.example.org', ca: 'PEM' };

test.each(['token', 'link', 'oidc'] as const)('log-in by %s: no secret', (kind) => {
  const issuer = { issuerUrl: 'https://login.example.org', clientId: 'console' };
  const text = userKubeconfig(options, session(kind), issuer);
  expect(text).not.toMatch(/the-token|session-id|csrf/);
  expect(parseYaml(text)).toMatchObject({
    clusters: [
      {
        cluster: {
          server: 'https://api.example.org/clusters/root:team',
          'certificate-authority-data': Buffer.from('PEM').toString('base64'),
        },
      },
    ],
    'current-context': 'root-team',
  });
});

test('a user of an issuer logs in there with the plugin of kubectl', () => {
  const issuer = { issuerUrl: 'https://login.example.org', clientId: 'console' };
  expect(parseYaml(userKubeconfig(options, session('oidc'), issuer))).toMatchObject({
    users: [
      {
        user: {
          exec: {
            command: 'kubectl',
            args: [
              'oidc-login',
              'get-token',
              '--oidc-issuer-url=https://login.example.org',
              '--oidc-client-id=console',
            ],
          },
        },
      },
    ],
  });
});

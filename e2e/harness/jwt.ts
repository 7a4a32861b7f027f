import { createPrivateKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ControlPlane } from './control-plane.ts';
import { topologyName } from './start-control-plane.ts';

/** The claims of a token, unverified. */
export function decodeJwt(token: string): Record<string, unknown> {
  const [, payload] = token.split('.');
  if (payload === undefined) throw new Error(`not a token: ${token}`);
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Record<string, unknown>;
}

/** The token of a ServiceAccount with other times, signed by the server's own key: nothing else is wrong with it. */
export function signedAgain(
  control: Pick<ControlPlane, 'path'>,
  token: string,
  times: Readonly<Record<'iat' | 'nbf' | 'exp', number>>,
): string {
  const [head = ''] = token.split('.');
  const { alg } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { readonly alg: string };
  const body = Buffer.from(JSON.stringify({ ...decodeJwt(token), ...times })).toString('base64url');
  const file = topologyName === 'sharded' ? control.path('pki', 'service-account.key') : control.path('root', 'sa.key');
  const key = createPrivateKey(readFileSync(file));
  const signature = sign(
    'sha256',
    Buffer.from(`${head}.${body}`),
    alg.startsWith('ES') ? { key, dsaEncoding: 'ieee-p1363' } : key,
  );
  return `${head}.${body}.${signature.toString('base64url')}`;
}

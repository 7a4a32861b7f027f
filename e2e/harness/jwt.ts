/** The claims of a token, unverified. */
export function decodeJwt(token: string): Record<string, unknown> {
  const [, payload] = token.split('.');
  if (payload === undefined) throw new Error(`not a token: ${token}`);
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as Record<string, unknown>;
}

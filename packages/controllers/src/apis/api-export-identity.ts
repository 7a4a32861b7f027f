import { hexSha256, type DeepReadonly, type GroupVersionResource, type KubeObject } from '@multiplane/apimachinery';
import type { NewKcpCondition } from '../runtime/kcp-conditions.ts';

export const secrets: GroupVersionResource = { group: '', version: 'v1', resource: 'secrets' };

/** The hash of an identity key, or why there is none. */
export type IdentityHash = { readonly hash: string } | { readonly problem: string };

/** Lower-case hex SHA-256 of `data.key`. */
export function identityHash(secret: DeepReadonly<KubeObject> | undefined, name: string): IdentityHash {
  // As client-go refuses it.
  if (name === '') return { problem: 'resource name may not be empty' };
  if (secret === undefined) return { problem: `secrets "${name}" not found` };
  const data = secret['data'] as Readonly<Record<string, string>> | undefined;
  const key =
    data !== undefined && Object.hasOwn(data, 'key') ? Buffer.from(data['key'] as string, 'base64') : undefined;
  if (key === undefined || key.length === 0) return { problem: 'secret is missing data.key' };
  return { hash: hexSha256(key) };
}

/** The condition IdentityValid; `current` is `status.identityHash`, which never changes once set. */
export function identityCondition(identity: IdentityHash, current: string | undefined): NewKcpCondition {
  if ('problem' in identity) return identityInvalid('IdentityVerificationFailed', identity.problem);
  return current === undefined || current === identity.hash
    ? { type: 'IdentityValid', status: 'True' }
    : identityInvalid(
        'IdentityVerificationFailed',
        `hash mismatch: identity secret hash "${identity.hash}" must match status.identityHash "${current}"`,
      );
}

export const identityInvalid = (reason: string, message: string): NewKcpCondition => ({
  type: 'IdentityValid',
  status: 'False',
  severity: 'Error',
  reason,
  message,
});

import { isJsonObject, parseJson, type UserInfo } from '@multiplane/apimachinery';
import { clusterNameExtra } from '../authentication/service-account-claims.ts';

/** Extra with warrants: users whose permissions the user has in addition. */
export const warrantExtra = 'authorization.kcp.io/warrant';
/** Maximum depth of nested warrants. */
export const maxWarrantDepth = 8;

const serviceAccountPrefix = 'system:serviceaccount:';

export const isServiceAccount = (user: { readonly name: string }): boolean =>
  user.name.startsWith(serviceAccountPrefix);

/** Name of a ServiceAccount in the RBAC rules of other logical clusters. */
export function globalServiceAccountName(cluster: string, userName: string): string {
  return `system:kcp:serviceaccount:${cluster}:${userName.slice(serviceAccountPrefix.length)}`;
}

/** Parses a warrant. Returns undefined for an invalid one and for a ServiceAccount without a logical cluster. */
export function parseWarrant(text: string): UserInfo | undefined {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const name = value['user'];
  if (typeof name !== 'string' || name === '') return undefined;
  const strings = (list: unknown): string[] =>
    Array.isArray(list) ? list.filter((item): item is string => typeof item === 'string') : [];
  const extra: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  if (isJsonObject(value['extra']))
    for (const key of Object.keys(value['extra'])) extra[key.toLowerCase()] = strings(value['extra'][key]);
  if (isServiceAccount({ name }) && (extra[clusterNameExtra] ?? []).length === 0) return undefined;
  return { name, uid: typeof value['uid'] === 'string' ? value['uid'] : '', groups: strings(value['groups']), extra };
}

/** Encodes a user as a warrant; the inverse of {@link parseWarrant}. */
export function warrantText({ name, uid, groups, extra }: UserInfo): string {
  return JSON.stringify({
    user: name,
    ...(uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  });
}

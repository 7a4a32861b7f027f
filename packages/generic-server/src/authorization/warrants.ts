import { isJsonObject, parseJson, type UserInfo } from '@multiplane/apimachinery';
import { clusterNameExtra } from '../authentication/service-account-tokens.ts';

/** Extra with further identities whose rights a user also has. */
export const warrantExtra = 'authorization.kcp.io/warrant';
/** Warrants vouch for warrants no deeper than this. */
export const maxWarrantDepth = 8;

const serviceAccountPrefix = 'system:serviceaccount:';

export const isServiceAccount = (user: { readonly name: string }): boolean =>
  user.name.startsWith(serviceAccountPrefix);

/** Name that RBAC may use for a ServiceAccount of another logical cluster. */
export function globalServiceAccountName(cluster: string, userName: string): string {
  return `system:kcp:serviceaccount:${cluster}:${userName.slice(serviceAccountPrefix.length)}`;
}

/** Whom a warrant vouches for; one that cannot be read, or is for a ServiceAccount of an unknown cluster, for nobody (C7.4). */
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

/** The opposite of {@link parseWarrant}. */
export function warrantText({ name, uid, groups, extra }: UserInfo): string {
  return JSON.stringify({
    user: name,
    ...(uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  });
}

import { anonymousUserName, unauthenticatedGroup, type UserInfo } from '@multiplane/apimachinery';
import { clusterNameExtra, scopesExtra } from '../authentication/service-account-claims.ts';
import {
  globalServiceAccountName,
  isServiceAccount,
  maxWarrantDepth,
  parseWarrant,
  warrantExtra,
  warrantText,
} from './warrants.ts';

/** Prefix of the names of consumers in the RBAC rules of a provider's workspace. */
const bindingUserPrefix = 'apis.kcp.io:binding:';

/**
 * A consumer of a bound API, as maximal permission policies name it: user, groups and the users in warrants get a prefix, so
 * that no other rule of the provider's workspace matches them. A ServiceAccount is named by its global name; one without a
 * logical cluster becomes anonymous.
 *
 * A prefixed ServiceAccount is an ordinary user in the provider's workspace, so the extras that tie it to its own logical
 * cluster are removed.
 */
export function prefixUser(user: UserInfo, depth = 0): UserInfo {
  const { [warrantExtra]: warrants, [clusterNameExtra]: clusters, [scopesExtra]: scopes, ...extra } = user.extra;
  const isAccount = isServiceAccount(user);
  if (isAccount && clusters?.length !== 1) {
    return {
      name: `${bindingUserPrefix}${anonymousUserName}`,
      uid: '',
      groups: [`${bindingUserPrefix}${unauthenticatedGroup}`],
      extra: {},
    };
  }
  const warranted = depth < maxWarrantDepth ? (warrants ?? []).flatMap((text) => parseWarrant(text) ?? []) : [];
  const name = isAccount ? globalServiceAccountName(clusters?.[0] as string, user.name) : user.name;
  return {
    name: `${bindingUserPrefix}${name}`,
    uid: user.uid,
    groups: user.groups.map((group) => `${bindingUserPrefix}${group}`),
    extra: {
      ...extra,
      ...(isAccount || clusters === undefined ? {} : { [clusterNameExtra]: clusters }),
      ...(isAccount || scopes === undefined ? {} : { [scopesExtra]: scopes }),
      ...(warranted.length === 0
        ? {}
        : { [warrantExtra]: warranted.map((other) => warrantText(prefixUser(other, depth + 1))) }),
    },
  };
}

import { anonymousUserName, unauthenticatedGroup, type UserInfo } from '@multiplane/apimachinery';
import { clusterNameExtra, scopesExtra } from '../authentication/service-account-tokens.ts';
import {
  globalServiceAccountName,
  isServiceAccount,
  maxWarrantDepth,
  parseWarrant,
  warrantExtra,
  warrantText,
} from './warrants.ts';

/** How RBAC in the logical cluster of an export names those who use its API elsewhere. */
export const bindingUserPrefix = 'apis.kcp.io:binding:';

/**
 * Somebody who uses a bound API, as maximal permission policies name them (C7.4): name and groups get a prefix, so that no
 * rule of the exporting logical cluster fits by accident, and whoever is vouched for with a warrant gets it, too. A
 * ServiceAccount is known by its global name; one of an unknown cluster is a stranger.
 *
 * A prefixed ServiceAccount is an ordinary user to the cluster that is asked: what bound it to its own is left out.
 */
export function prefixUser(user: UserInfo, depth = 0): UserInfo {
  const { [warrantExtra]: warrants, [clusterNameExtra]: clusters, [scopesExtra]: scopes, ...extra } = user.extra;
  const robot = isServiceAccount(user);
  if (robot && clusters?.length !== 1) {
    return {
      name: `${bindingUserPrefix}${anonymousUserName}`,
      uid: '',
      groups: [`${bindingUserPrefix}${unauthenticatedGroup}`],
      extra: {},
    };
  }
  const vouchedFor = depth < maxWarrantDepth ? (warrants ?? []).flatMap((text) => parseWarrant(text) ?? []) : [];
  const name = robot ? globalServiceAccountName(clusters?.[0] as string, user.name) : user.name;
  return {
    name: `${bindingUserPrefix}${name}`,
    uid: user.uid,
    groups: user.groups.map((group) => `${bindingUserPrefix}${group}`),
    extra: {
      ...extra,
      ...(robot || clusters === undefined ? {} : { [clusterNameExtra]: clusters }),
      ...(robot || scopes === undefined ? {} : { [scopesExtra]: scopes }),
      ...(vouchedFor.length === 0
        ? {}
        : { [warrantExtra]: vouchedFor.map((other) => warrantText(prefixUser(other, depth + 1))) }),
    },
  };
}

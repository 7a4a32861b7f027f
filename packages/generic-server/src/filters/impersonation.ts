import {
  anonymousUserName,
  authenticatedGroup,
  statusErrors,
  unauthenticatedGroup,
  type UserInfo,
} from '@multiplane/apimachinery';
import type { AuthorizationAttributes, AuthorizationResult, Authorizer } from '../authorization/authorizer.ts';
import { isStillAllowed } from '../authorization/permission-precondition.ts';
import { maxWarrantDepth, parseWarrant, warrantExtra } from '../authorization/warrants.ts';
import type { Headers } from '../server/exchange.ts';
import type { Filter, RequestContext } from '../request/request-context.ts';
import { authorizationAttributesOf, forbidden } from './authorization.ts';

/**
 * Additional rules of a server, checked before authorization; throws a StatusError to reject. May return another user than
 * `requested`: kcp scopes impersonated users to the workspace.
 */
export type ImpersonationPolicy = (context: RequestContext, requester: UserInfo, requested: UserInfo) => UserInfo;

const maxHeaderValues = 256;
const mastersGroup = 'system:masters';

/**
 * Applies `Impersonate-*` headers, as Kubernetes 1.36 does (KEP-5284). First the constrained mode of the wanted user is tried:
 * `impersonate-on:<mode>:<verb>` on what is requested, and `impersonate:<mode>` on each value. Else each value requires the
 * permission `impersonate` (on users, groups, serviceaccounts, uids, userextras). The first refusal is the one that is reported.
 * There are no modes for nodes.
 */
export function withImpersonation(modules: {
  readonly authorizer: Authorizer;
  readonly policy?: ImpersonationPolicy;
}): Filter {
  return (next) => {
    const impersonated = async (context: RequestContext): Promise<void> => {
      await impersonate(modules, context);
      await next(context);
    };
    return (context) => (hasImpersonationHeader(context.exchange.headers) ? impersonated(context) : next(context));
  };
}

/** Few requests impersonate, so this check runs before anything is parsed. */
function hasImpersonationHeader(headers: Headers): boolean {
  // oxlint-disable-next-line guard-for-in -- headers have no prototype, and a list of keys costs more
  for (const name in headers) if (name.startsWith('impersonate-')) return true;
  return false;
}

async function impersonate(
  { authorizer, policy }: { readonly authorizer: Authorizer; readonly policy?: ImpersonationPolicy },
  context: RequestContext,
): Promise<void> {
  const requested = requestedUser(context);
  if (requested === undefined) return;
  const requester = context.user;
  const user = policy === undefined ? requested.user : policy(context, requester, requested.user);
  const attributes = authorizationAttributesOf(context);
  const refused = await refusal(authorizer, attributes, requested);
  if (refused !== undefined) throw forbidden(context, refused.attributes, refused.result.reason);
  context.user = user;
  context.preconditions?.push({
    kind: 'permission',
    holds: async () => {
      const now = await refusal(authorizer, attributes, requested);
      return now === undefined || isStillAllowed(now.result);
    },
  });
}

/** Attributes that are not authorized, and the authorizer's answer. */
interface Refusal {
  readonly attributes: AuthorizationAttributes;
  readonly result: AuthorizationResult;
}

/** Why the requester, the user of the attributes, may not impersonate the user; undefined: it may. */
async function refusal(
  authorizer: Authorizer,
  attributes: AuthorizationAttributes,
  requested: Impersonation,
): Promise<Refusal | undefined> {
  const mode = modeOf(requested);
  let first: Refusal | undefined;
  if (mode !== undefined) {
    first = await constrainedRefusal(authorizer, attributes, requested, mode);
    if (first === undefined) return undefined;
  }
  for (const permission of permissions(requested)) {
    const refused = await check(authorizer, attributesOf(attributes, 'impersonate', permission));
    if (refused !== undefined) return first ?? refused;
  }
  return undefined;
}

async function constrainedRefusal(
  authorizer: Authorizer,
  attributes: AuthorizationAttributes,
  requested: Impersonation,
  mode: string,
): Promise<Refusal | undefined> {
  const refused = await check(authorizer, { ...attributes, verb: `impersonate-on:${mode}:${attributes.verb}` });
  if (refused !== undefined) return refused;
  for (const permission of permissions(requested)) {
    const { resource, name } = permission;
    const needed = attributesOf(attributes, `impersonate:${mode}`, {
      ...permission,
      group: 'authentication.k8s.io',
    });
    if (resource === 'groups' && (name === '' || name === mastersGroup)) {
      const what = name === '' ? 'empty string' : name;
      const reason = `impersonating the ${what} group is not allowed`;
      return { attributes: needed, result: { decision: 'noOpinion', reason } };
    }
    const without = await check(authorizer, needed);
    if (without !== undefined) return without;
  }
  return undefined;
}

/** The constrained mode that is meant for a user; undefined: none is. */
function modeOf({ user, namedGroups }: Impersonation): string | undefined {
  const onlyName = namedGroups.length === 0 && user.uid === '' && Object.keys(user.extra).length === 0;
  if (serviceAccountOf(user.name) !== undefined) return onlyName ? 'serviceaccount' : undefined;
  return user.name.startsWith('system:node:') ? undefined : 'user-info';
}

async function check(authorizer: Authorizer, attributes: AuthorizationAttributes): Promise<Refusal | undefined> {
  const result = await authorizer.authorize(attributes);
  return result.decision === 'allow' ? undefined : { attributes, result };
}

const attributesOf = (
  { user, cluster }: AuthorizationAttributes,
  verb: string,
  permission: Permission,
): AuthorizationAttributes => ({
  user,
  cluster,
  verb,
  isResourceRequest: true,
  version: 'v1',
  path: '',
  ...permission,
});

/** Error messages repeat input of the caller. */
const setNoSniff = ({ exchange }: RequestContext): void => exchange.setHeader('x-content-type-options', 'nosniff');

function requestedUser(context: RequestContext): Impersonation | undefined {
  try {
    return impersonatedUser(context.exchange.headers);
  } catch (error) {
    setNoSniff(context);
    throw error;
  }
}

interface Impersonation {
  readonly user: UserInfo;
  /** Groups in the headers. The implied groups of a ServiceAccount require no permission. */
  readonly namedGroups: readonly string[];
}

/** The user of the headers; undefined without impersonation headers. Throws 400 if the user name is missing. */
export function impersonatedUser(headers: Headers): Impersonation | undefined {
  const name = single(headers['impersonate-user']);
  const uid = single(headers['impersonate-uid']);
  const namedGroups = values(headers['impersonate-group']);
  const extra: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  let extras = 0;
  for (const header of Object.keys(headers)) {
    if (!header.startsWith('impersonate-extra-')) continue;
    extra[decodeKey(header.slice('impersonate-extra-'.length))] = values(headers[header]);
    extras++;
  }
  if (name === '' && uid === '' && namedGroups.length === 0 && extras === 0) return undefined;
  if (name === '') {
    const groups =
      namedGroups.length === 0 ? '[]string(nil)' : `[]string{${namedGroups.map((g) => JSON.stringify(g)).join(', ')}}`;
    const extraText =
      extras === 0
        ? 'map[string][]string(nil)'
        : `map[string][]string{${Object.keys(extra)
            .map(
              (k) =>
                `${JSON.stringify(k)}:[]string{${(extra[k] as string[]).map((v) => JSON.stringify(v)).join(', ')}}`,
            )
            .join(', ')}}`;
    throw statusErrors.badRequest(
      `requested &user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${groups}, Extra:${extraText}} without impersonating a user name`,
    );
  }
  return { user: { name, uid, groups: withImpliedGroups(name, namedGroups), extra }, namedGroups };
}

function withImpliedGroups(name: string, named: readonly string[]): string[] {
  const groups = [...named];
  const account = serviceAccountOf(name);
  if (account !== undefined && named.length === 0)
    groups.push('system:serviceaccounts', `system:serviceaccounts:${account.namespace}`);
  const implied = name === anonymousUserName ? unauthenticatedGroup : authenticatedGroup;
  if (!groups.includes(implied) && !groups.includes(authenticatedGroup) && !groups.includes(unauthenticatedGroup))
    groups.push(implied);
  return groups;
}

/** Namespace and name of `system:serviceaccount:<namespace>:<name>`; undefined for other users. */
function serviceAccountOf(userName: string): { namespace: string; name: string } | undefined {
  const parts = userName.split(':');
  return parts.length === 4 && parts[0] === 'system' && parts[1] === 'serviceaccount'
    ? { namespace: parts[2] as string, name: parts[3] as string }
    : undefined;
}

interface Permission {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** What the requester needs: the right to impersonate the user, and each user of whom it brings a warrant. */
function* permissions({ user, namedGroups }: Impersonation, depth = 0): IterableIterator<Permission> {
  const account = serviceAccountOf(user.name);
  yield account === undefined
    ? { group: '', resource: 'users', subresource: '', namespace: '', name: user.name }
    : { group: '', resource: 'serviceaccounts', subresource: '', namespace: account.namespace, name: account.name };
  for (const name of namedGroups) yield { group: '', resource: 'groups', subresource: '', namespace: '', name };
  if (user.uid !== '')
    yield { group: 'authentication.k8s.io', resource: 'uids', subresource: '', namespace: '', name: user.uid };
  for (const key of Object.keys(user.extra)) {
    for (const name of user.extra[key] ?? [])
      yield { group: 'authentication.k8s.io', resource: 'userextras', subresource: key, namespace: '', name };
  }
  if (depth === maxWarrantDepth) return;
  for (const text of user.extra[warrantExtra] ?? []) {
    const warrant = parseWarrant(text);
    if (warrant !== undefined) yield* permissions({ user: warrant, namedGroups: warrant.groups }, depth + 1);
  }
}

function single(value: string | readonly string[] | undefined): string {
  return value === undefined ? '' : textOf(typeof value === 'string' ? value : (value[0] ?? ''));
}

/** Node decodes headers as Latin-1; names in them are UTF-8. */
const textOf = (value: string): string => Buffer.from(value, 'latin1').toString();

/** The values of a header. Lists are repeated headers; commas do not separate values. */
function values(value: string | readonly string[] | undefined): string[] {
  const list = value === undefined ? [] : typeof value === 'string' ? [value] : [...value];
  if (list.length > maxHeaderValues)
    throw statusErrors.badRequest(
      `too many values in an impersonation header: ${list.length}, at most ${maxHeaderValues} are allowed`,
    );
  return list.map(textOf);
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key).toLowerCase();
  } catch {
    return key.toLowerCase();
  }
}

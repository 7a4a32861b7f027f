import type { ApiClient } from '../data/api-client.ts';
import { ApiError } from '../data/api-error.ts';

/** Who is logged in, and where; `GET session`. */
export interface Session {
  readonly user: { readonly name: string; readonly groups: readonly string[] };
  readonly issuer: string | null;
  readonly expiresAt: string;
  readonly csrfToken: string;
  readonly server: {
    readonly version: string;
    readonly profile: 'all-in-one' | 'sharded';
    readonly features: Readonly<Record<string, boolean>>;
  };
  /** The logical cluster of the user's home workspace. */
  readonly homeWorkspace: string | null;
}

export type LoginMethod =
  | { readonly kind: 'token' }
  | { readonly kind: 'oidc'; readonly id: string; readonly displayName: string };

export type SessionState =
  | { readonly kind: 'session'; readonly session: Session }
  | { readonly kind: 'login'; readonly methods: readonly LoginMethod[] };

/** The session of this browser, or the ways into one. Rejects when the console does not answer. */
export async function readSession(fetchPath: (path: string) => Promise<Response>): Promise<SessionState> {
  const response = await fetchPath('/console/session');
  if (response.ok) return { kind: 'session', session: (await response.json()) as Session };
  if (response.status !== 401)
    throw new ApiError(response.status, response.statusText, `the console answered ${response.status}`);
  const { loginMethods } = (await response.json()) as { loginMethods: readonly LoginMethod[] };
  return { kind: 'login', methods: loginMethods };
}

/** Ends the session, at its issuer too if that has a way to do so. */
export async function logOut(api: ApiClient): Promise<void> {
  const { endSessionUrl } = await api.json<{ readonly endSessionUrl: string | null }>('logout', { method: 'POST' });
  location.assign(endSessionUrl ?? '/console/');
}

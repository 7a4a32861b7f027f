import type { Session } from '../session/session.ts';

const key = 'multiplane-workspace';
const administrators = new Set(['system:masters', 'system:kcp:admin']);

/** The workspace that the console opens with: the last one of this user, else the home workspace, for administrators `root`. */
export function defaultCluster(
  { user, homeWorkspace }: Pick<Session, 'user' | 'homeWorkspace'>,
  storage: Pick<Storage, 'getItem'>,
): string {
  const last = storage.getItem(`${key}:${user.name}`);
  if (last !== null) return last;
  if (user.groups.some((group) => administrators.has(group))) return 'root';
  return homeWorkspace ?? 'root';
}

export const rememberCluster = (user: string, cluster: string, storage: Pick<Storage, 'setItem'>): void =>
  storage.setItem(`${key}:${user}`, cluster);

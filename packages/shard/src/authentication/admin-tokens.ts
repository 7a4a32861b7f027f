import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mastersGroup, type UserInfo } from '@multiplane/apimachinery';
import type { StaticTokenAuthenticator } from '@multiplane/apiserver';
import { readKubeconfig } from '@multiplane/client';
import { writeFileAtomic } from '@multiplane/component-base';

export const shardAdminName = 'shard-admin';
export const kcpAdminName = 'kcp-admin';
export const plainUserName = 'user';
export const kcpAdminGroup = 'system:kcp:admin';

interface AdminTokenOptions {
  /** `--authentication-admin-token-path`: the sha256 of the shard admin's token stands here, raw. */
  readonly hashFile: string;
  /** `--kubeconfig-path`: the token itself is read back from here after a restart. */
  readonly kubeconfigFile: string;
  /** Battery `user`: somebody without any rights of their own. */
  readonly withUser?: boolean | undefined;
}

export interface AdminTokens {
  readonly shardAdminToken: string;
  readonly kcpAdminToken: string;
  readonly userToken?: string | undefined;
  /**
   * Stores the hash. To be called once the kubeconfig holds the token: a start that failed in between would otherwise
   * leave a hash that no token fits, and every later start would refuse.
   */
  readonly storeHash: () => Promise<void>;
}

/**
 * Tokens of the built-in users (C7.1, C12.7): `kcp-admin` and `user` get a new one with every start; `shard-admin` keeps
 * its own over restarts, in the kubeconfig, and only its hash is stored apart.
 * Throws an Error that says what to remove when the two files do not belong together.
 */
export function adminTokens(
  options: AdminTokenOptions,
  modules: { readonly tokens: StaticTokenAuthenticator },
): AdminTokens {
  const shardAdminToken = persistentToken(options);
  const kcpAdminToken = randomUUID();
  modules.tokens.add(shardAdminToken, user(shardAdminName, mastersGroup));
  modules.tokens.add(kcpAdminToken, user(kcpAdminName, kcpAdminGroup));
  const userToken = options.withUser === true ? randomUUID() : undefined;
  if (userToken !== undefined) modules.tokens.add(userToken, user(plainUserName));
  const storeHash = (): Promise<void> => writeFileAtomic(options.hashFile, sha256(shardAdminToken), 0o600);
  return { shardAdminToken, kcpAdminToken, userToken, storeHash };
}

const user = (name: string, ...groups: string[]): UserInfo => ({ name, uid: randomUUID(), groups, extra: {} });
const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

function persistentToken({ hashFile, kubeconfigFile }: AdminTokenOptions): string {
  if (!existsSync(hashFile)) return randomUUID();
  const hash = readFileSync(hashFile);
  const text = existsSync(kubeconfigFile) ? readFileSync(kubeconfigFile, 'utf8') : '';
  // As the file was written here; what somebody wrote otherwise is read as YAML, whose library takes time to load.
  for (const [, written] of text.matchAll(/^ +token: "?([\w-]+)"?$/gm))
    if (sha256(written as string).equals(hash)) return written as string;
  const token =
    text === ''
      ? undefined
      : readKubeconfig(kubeconfigFile).users.find(({ name }) => name === shardAdminName)?.user.token;
  if (token === undefined)
    throw new Error(
      `cannot create the '${kubeconfigFile}' file with an empty token for the ${shardAdminName} user: the token was lost. Remove file "${hashFile}" and restart`,
    );
  if (!sha256(token).equals(hash))
    throw new Error(
      `admin token in file "${kubeconfigFile}" is not valid anymore. Remove file "${hashFile}" and restart kcp`,
    );
  return token;
}

import { createHash, createHmac, randomUUID } from 'node:crypto';
import { mastersGroup, type UserInfo } from '@multiplane/apimachinery';
import { readKubeconfig } from '@multiplane/client';
import { readIfPresent, writeFileAtomic } from '@multiplane/component-base';
import type { StaticTokenAuthenticator } from '@multiplane/generic-server';
import { checkAdminKubeconfig } from './admin-kubeconfig.ts';
import { kcpAdminGroup, kcpAdminName, plainUserName, shardAdminName } from './admin-users.ts';

interface AdminTokenOptions {
  /** `--authentication-admin-token-path`: holds the raw SHA-256 of the shard admin's token. */
  readonly hashFile: string;
  /** `--kubeconfig-path`: the token is read back from this file after a restart. */
  readonly kubeconfigFile: string;
  /** Battery `user`: a user without rights. */
  readonly withUser?: boolean | undefined;
}

export interface AdminTokens {
  readonly shardAdminToken: string;
  readonly kcpAdminToken: string;
  readonly userToken?: string | undefined;
  /**
   * Stores the hash. Call it after the kubeconfig is written: otherwise a start that fails in between leaves a hash without
   * a matching token, and every later start fails.
   */
  readonly storeHash: () => Promise<void>;
}

/**
 * Creates the tokens of the built-in users (kcp `pkg/server/options/authentication.go`). The token of `shard-admin` survives
 * restarts in the kubeconfig, and its hash is stored separately. Those of `kcp-admin` and `user` are derived from it, so
 * that a copy of the kubeconfig stays valid (docs/compatibility.md, "Authentication and authorization"); they do not disclose it.
 * Throws an Error that names the file to remove if hash and kubeconfig do not match, and an OptionError for a kubeconfig of somebody
 * else, before anything is written.
 */
export function adminTokens(
  options: AdminTokenOptions,
  modules: { readonly tokens: StaticTokenAuthenticator },
): AdminTokens {
  const shardAdminToken = persistentToken(options);
  const kcpAdminToken = derivedToken(shardAdminToken, kcpAdminName);
  modules.tokens.add(shardAdminToken, user(shardAdminName, mastersGroup));
  modules.tokens.add(kcpAdminToken, user(kcpAdminName, kcpAdminGroup));
  const userToken = options.withUser === true ? derivedToken(shardAdminToken, plainUserName) : undefined;
  if (userToken !== undefined) modules.tokens.add(userToken, user(plainUserName));
  const storeHash = (): Promise<void> => writeFileAtomic(options.hashFile, sha256(shardAdminToken), 0o600);
  return { shardAdminToken, kcpAdminToken, userToken, storeHash };
}

const user = (name: string, ...groups: string[]): UserInfo => ({ name, uid: randomUUID(), groups, extra: {} });
const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
/** 128 bits in the form of a UUID, as the other token. */
const derivedToken = (token: string, name: string): string =>
  createHmac('sha256', token)
    .update(name)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');

function persistentToken({ hashFile, kubeconfigFile }: AdminTokenOptions): string {
  checkAdminKubeconfig(kubeconfigFile);
  const stored = readIfPresent(hashFile, 'latin1');
  if (stored === undefined) return randomUUID();
  const hash = Buffer.from(stored, 'latin1');
  const text = readIfPresent(kubeconfigFile) ?? '';
  // Fast path for the file as written above; loading the YAML parser takes longer and is only needed for edited files.
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

import { mergeKubeconfig, readKubeconfig, type Kubeconfig } from '@multiplane/client';
import { OptionError, readIfPresent, writeFileAtomic } from '@multiplane/component-base';
import type { ShardUrls } from '../sharding/shard-urls.ts';
import { kcpAdminName, plainUserName, shardAdminName } from './admin-users.ts';

interface AdminKubeconfigOptions {
  readonly file: string;
  /** `https://<host>:<port>`, as clients reach the server. */
  readonly server: string;
  /** PEM. */
  readonly ca: string;
  readonly shardAdminToken: string;
  readonly kcpAdminToken: string;
  /** Adds the context `user`. */
  readonly userToken?: string | undefined;
}

/**
 * Where the admin kubeconfig points to. A shard without others is reached at its external URL, for example through a
 * published port. The external URL of other shards is that of a front-proxy, which does not know the tokens of this
 * kubeconfig: they are valid at the shard alone.
 */
export function adminServer(
  { cacheKubeconfig }: { readonly cacheKubeconfig?: string | undefined },
  { baseURL, externalURL }: Pick<ShardUrls, 'baseURL' | 'externalURL'>,
): string {
  return cacheKubeconfig === undefined ? externalURL : baseURL;
}

/** kcp's contexts: `root` (current), `base`, `system:admin`, `shard-base`, and `user` with the battery of that name. */
function adminKubeconfig(options: AdminKubeconfigOptions): Kubeconfig {
  const cluster = (name: string, path: string) => ({
    name,
    cluster: {
      'certificate-authority-data': Buffer.from(options.ca).toString('base64'),
      server: `${options.server}${path}`,
    },
  });
  const context = (name: string, clusterName: string, user: string) => ({
    name,
    context: { cluster: clusterName, user },
  });
  const { userToken } = options;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      cluster('base', ''),
      cluster('root', '/clusters/root'),
      cluster('system:admin', '/clusters/system:admin'),
    ],
    contexts: [
      context('base', 'base', kcpAdminName),
      context('root', 'root', kcpAdminName),
      context('shard-base', 'base', shardAdminName),
      context('system:admin', 'system:admin', shardAdminName),
      ...(userToken === undefined ? [] : [context('user', 'root', plainUserName)]),
    ],
    'current-context': 'root',
    preferences: {},
    users: [
      { name: kcpAdminName, user: { token: options.kcpAdminToken } },
      { name: shardAdminName, user: { token: options.shardAdminToken } },
      ...(userToken === undefined ? [] : [{ name: plainUserName, user: { token: userToken } }]),
    ],
  };
}

/**
 * Throws an OptionError when the file is not a kubeconfig, or is that of somebody else with an entry of a name that
 * {@link writeAdminKubeconfig} would replace. A kubeconfig with the user `shard-admin` was written by a control plane, this or an earlier one.
 */
export function checkAdminKubeconfig(file: string): void {
  const text = readIfPresent(file) ?? '';
  // The text as it is written here; loading the YAML parser would delay every start.
  if (text.trim() === '' || new RegExp(`^ *-? *name: "?${shardAdminName}"?$`, 'm').test(text)) return;
  const remedy = 'choose another file with --kubeconfig-path, or move it away';
  let existing: Kubeconfig;
  try {
    existing = readKubeconfig(file);
  } catch (cause) {
    throw new OptionError(`${file} is not a kubeconfig and is not overwritten: ${remedy}`, { cause });
  }
  if (existing.users.some(({ name }) => name === shardAdminName)) return;
  const { clusters, contexts, users } = adminKubeconfig({
    file,
    server: '',
    ca: '',
    shardAdminToken: '',
    kcpAdminToken: '',
    userToken: '',
  });
  const namesOf = (entries: readonly { readonly name: string }[]): string[] => entries.map(({ name }) => name);
  for (const [kind, mine, theirs] of [
    ['cluster', clusters, existing.clusters],
    ['context', contexts, existing.contexts],
    ['user', users, existing.users],
  ] as const) {
    const taken = namesOf(theirs).find((name) => namesOf(mine).includes(name));
    if (taken !== undefined)
      throw new OptionError(`${file} has a ${kind} "${taken}" that this server did not write: ${remedy}`);
  }
}

/**
 * Writes the kubeconfig atomically and with mode 0600, since it holds tokens. Contexts, clusters and users that were added to
 * an existing file are kept.
 */
export async function writeAdminKubeconfig(options: AdminKubeconfigOptions): Promise<void> {
  const before = readIfPresent(options.file);
  await writeFileAtomic(options.file, mergeKubeconfig(before, adminKubeconfig(options)), 0o600);
}

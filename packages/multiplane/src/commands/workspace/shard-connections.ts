import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { getOwn, isJsonObject, isStatusError, type KubeObject } from '@multiplane/apimachinery';
import { clientConfigOf, readKubeconfig, RestTransport, type ClientConfig } from '@multiplane/client';
import { OptionError, type OptionTable } from '@multiplane/component-base';

/** The flags that lead to running shards. */
export const shardOptionTable = {
  kubeconfig: {
    type: 'text',
    default: '.multiplane/admin.kubeconfig',
    description:
      'Kubeconfig of a running control plane. One that leads to a front-proxy has the kubeconfigs of the shards beside it (shard-<name>.kubeconfig, as "multiplane pki init" writes them).',
  },
  shard: {
    type: 'text',
    description: 'Name of the shard. Needed when there are several.',
  },
  context: {
    type: 'text',
    default: 'shard-base',
    description:
      'Context of the kubeconfig that leads to the shard itself; its user must be in the group system:masters.',
  },
} as const satisfies OptionTable;

interface ShardOptions {
  readonly kubeconfig: string;
  readonly context: string;
  readonly shard?: string | undefined;
}

/**
 * The kubeconfig of the running control plane: the given one, else that in the root directory, which `multiplane start` writes,
 * else the default.
 */
export function runningKubeconfig({
  values,
  given,
}: {
  readonly values: { readonly kubeconfig: string; readonly rootDirectory: string | undefined };
  readonly given: ReadonlySet<string>;
}): string {
  const { kubeconfig, rootDirectory } = values;
  return rootDirectory === undefined || given.has('kubeconfig') ? kubeconfig : join(rootDirectory, 'admin.kubeconfig');
}

/**
 * How to reach one shard. A kubeconfig with the context leads there itself. Another one leads to a front-proxy, which does
 * not pass on snapshots: then the kubeconfig of the shard beside it is used.
 */
export function shardConfig({ kubeconfig, context, shard }: ShardOptions): ClientConfig {
  if (!existsSync(kubeconfig))
    throw new OptionError(
      `--kubeconfig: ${kubeconfig} does not exist; name it, or use --root-directory or --etcd-servers`,
    );
  const directory = dirname(kubeconfig);
  const fileOf = (name: string): string => join(directory, `shard-${name}.kubeconfig`);
  if (shard !== undefined && existsSync(fileOf(shard))) return configOf(fileOf(shard), context);
  const content = readKubeconfig(kubeconfig);
  if (content.contexts.some(({ name }) => name === context)) return clientConfigOf(content, kubeconfig, context);
  const names = readdirSync(directory).flatMap((file) => /^shard-(.+)\.kubeconfig$/.exec(file)?.[1] ?? []);
  if (shard === undefined && names.length === 1) return configOf(fileOf(names[0] as string), context);
  if (names.length === 0)
    throw new OptionError(
      `--kubeconfig: ${basename(kubeconfig)} has no context ${context}, so it leads to a front-proxy, and there is no kubeconfig of a shard (shard-<name>.kubeconfig) beside it`,
    );
  const all = names.toSorted().join(', ');
  throw new OptionError(
    shard === undefined
      ? `--shard is needed: a snapshot is of one shard, and there are ${all}`
      : `--shard: there is no shard ${shard}; there are ${all}`,
  );
}

const configOf = (file: string, context: string): ClientConfig => clientConfigOf(readKubeconfig(file), file, context);

/** A running shard. */
export interface ConnectedShard {
  readonly name: string;
  readonly transport: RestTransport;
}

/**
 * All shards of a control plane: those that the root shard has registered, each reached at its base URL with the credentials
 * for the root shard.
 */
export async function connectShards(options: ShardOptions): Promise<ConnectedShard[]> {
  const config = shardConfig({ ...options, shard: hasShardFile(options.kubeconfig, 'root') ? 'root' : undefined });
  const root = new RestTransport({ config });
  const list = await root.json({ method: 'GET', path: '/clusters/root/apis/core.kcp.io/v1alpha1/shards' });
  const items = isJsonObject(list)
    ? (getOwn(list, 'items') as unknown as (KubeObject & { spec?: { baseURL?: string } })[])
    : [];
  return items.map(({ metadata, spec }) => {
    const name = metadata.name ?? '';
    // A single process registers an address that may not be reachable from here.
    const transport =
      name === 'root' || spec?.baseURL === undefined
        ? root
        : new RestTransport({ config: { ...config, server: spec.baseURL } });
    return { name, transport };
  });
}

const hasShardFile = (kubeconfig: string, name: string): boolean =>
  existsSync(join(dirname(kubeconfig), `shard-${name}.kubeconfig`));

/** A shard answers so when it knows the Workspace and another shard has its logical cluster. */
const isElsewhere = ({ code, message }: { readonly code: number; readonly message: string }): boolean =>
  code === 429 && message.includes('Not found on this shard');

/** An object that may not exist, or be on another shard. */
export async function find<T extends KubeObject>(transport: RestTransport, path: string): Promise<T | undefined> {
  try {
    return (await transport.json({ method: 'GET', path })) as unknown as T;
  } catch (error) {
    if (isStatusError(error) && ([403, 404, 503].includes(error.code) || isElsewhere(error))) return undefined;
    throw error;
  }
}

export type FoundLogicalCluster = KubeObject & { readonly status?: { readonly phase?: string } };

type FoundWorkspace = KubeObject & { readonly spec?: { readonly cluster?: string } };

export interface FoundPlace {
  readonly shard: ConnectedShard;
  /** Name of the logical cluster. */
  readonly cluster: string;
  readonly object: FoundLogicalCluster;
}

/**
 * Finds a logical cluster by its path or name. Follows the Workspaces from shard to shard: a shard only resolves paths whose
 * logical clusters it has all.
 */
export async function findLogicalCluster(
  shards: readonly ConnectedShard[],
  path: string,
): Promise<FoundPlace | undefined> {
  const [first = '', ...names] = path.split(':');
  let found = await findByName(shards, first);
  for (const name of names) {
    if (found === undefined) return undefined;
    const at = `/clusters/${found.cluster}/apis/tenancy.kcp.io/v1alpha1/workspaces/${name}`;
    const workspace: FoundWorkspace | undefined = await find<FoundWorkspace>(found.shard.transport, at);
    const cluster = workspace?.spec?.cluster;
    found = cluster === undefined ? undefined : await findByName(shards, cluster);
  }
  return found;
}

async function findByName(shards: readonly ConnectedShard[], cluster: string): Promise<FoundPlace | undefined> {
  for (const shard of shards) {
    const at = `/clusters/${cluster}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
    const object = await find<FoundLogicalCluster>(shard.transport, at);
    if (object !== undefined) return { shard, cluster, object };
  }
  return undefined;
}

/** Throws OptionError for what cannot be the path of a workspace. */
export function checkWorkspacePath(flag: string, path: string): string {
  if (!/^[a-z0-9][a-z0-9-]*(:[a-z0-9][a-z0-9-]*)+$/.test(path) || path.startsWith('system:'))
    throw new OptionError(`${flag}: ${JSON.stringify(path)} is not the path of a workspace, as in root:team-a`);
  return path;
}

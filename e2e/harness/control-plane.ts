import type { ClientConfig, RestTransport } from '@multiplane/client';
import { endKeptClusters, useKeptCluster } from './kept-cluster.ts';
import { LocalCluster } from './local-cluster.ts';
import { ShardedCluster, type ShardedClusterOptions } from './sharded-cluster.ts';

/** Contexts of kubeconfigs that every control plane has. */
export type ContextName = 'root' | 'base' | 'system:admin' | 'shard-base';

/**
 * A control plane as its clients see it, whatever it consists of: suites that are written against this run on both
 * topologies.
 */
export interface ControlPlane extends AsyncDisposable {
  /** Where clients send their requests, without a path. */
  readonly url: string;
  readonly port: number;
  /** The administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** Verifies the server (PEM). */
  readonly ca: string;
  /** A token of the administrator of that kubeconfig. */
  readonly adminToken: string;
  /** A path in the folder of this control plane. */
  path(...parts: string[]): string;
  /** What the servers have written so far. */
  log(): string;
  config(context: ContextName): ClientConfig;
  /**
   * Requests to {@link url}: `shard-base` and `system:admin` with every right, the others as the administrator, or with a
   * token of the token file.
   */
  transport(as: ContextName | { readonly token: string }): RestTransport;
  /** The root shard itself, without the front-proxy that may stand before it. */
  readonly rootShard: Pick<ControlPlane, 'url' | 'ca'>;
  /** To every shard itself, with every right; for what no front-proxy lets through. */
  shardTransports(): RestTransport[];
}

/** Which topology the suites of this run are played on; set by the jest project. */
export const topologyName = process.env['MULTIPLANE_E2E_TOPOLOGY'] === 'sharded' ? 'sharded' : 'all-in-one';

/**
 * Starts a control plane of the topology that this run is about; all in one ignores what is about shards. It may have served
 * an earlier suite, which has left nothing in it.
 */
export async function startControlPlane(options: ShardedClusterOptions = {}): Promise<ControlPlane> {
  const isSharded = topologyName === 'sharded';
  // Sharded suites come first (hack/test-sequencer.ts): none is left that would use theirs.
  if (!isSharded) endKeptClusters({ isSharded: true });
  if (options.ownProcesses !== true && options.prepare === undefined && options.env === undefined)
    return useKeptCluster({ isSharded, options });
  return isSharded ? ShardedCluster.start(options) : LocalCluster.start(options);
}

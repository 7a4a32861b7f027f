import type { ControlPlane } from './control-plane.ts';
import { endKeptClusters, useKeptCluster } from './kept-cluster.ts';
import { LocalCluster } from './local-cluster.ts';
import { ShardedCluster, type ShardedClusterOptions } from './sharded-cluster.ts';

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

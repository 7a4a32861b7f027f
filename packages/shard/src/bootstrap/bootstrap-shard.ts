import { randomBytes } from 'node:crypto';
import { nativeKindsBattery } from '@multiplane/apis';
import type { LoopbackClient } from '@multiplane/apiserver';
import type { InformerFactory } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import type { ShardOptions } from '../options.ts';
import { rootShardName } from '../sharding-options.ts';
import { bootstrapExports, bootstrapNativeExports } from './bootstrap-exports.ts';
import { bootstrapMetricsViewer } from './bootstrap-metrics-viewer.ts';
import { bootstrapTypes } from './bootstrap-types.ts';
import { bootstrapFlowControl, bootstrapHomeCreators, bootstrapPolicy, bootstrapRoot } from './bootstrap.ts';
import { readRootIdentities } from './root-identities.ts';

/** Creates the initial objects of a shard in the order of their dependencies; most of them only on the root shard. */
export async function bootstrapShard(
  options: ShardOptions,
  modules: { readonly client: LoopbackClient; readonly informers: InformerFactory; readonly clock: Clock },
): Promise<void> {
  await bootstrapPolicy(modules);
  await bootstrapFlowControl(modules);
  if (options.shardName !== rootShardName) return;
  await bootstrapRoot({ shardName: options.shardName }, modules);
  if (options.enableHomeWorkspaces) await bootstrapHomeCreators(options.homeWorkspacesHomeCreatorGroups, modules);
  const exportOptions = {
    isEnabled: (feature: string) => feature === 'CacheAPIs' && options.features.enabled(feature),
    identities: readRootIdentities(options.rootIdentitiesFile),
  };
  await bootstrapExports(exportOptions, { ...modules, randomBytes });
  if (options.batteries.has(nativeKindsBattery))
    await bootstrapNativeExports(exportOptions, { ...modules, randomBytes });
  await bootstrapTypes({ batteries: options.batteries }, modules);
  if (options.batteries.has('metrics-viewer')) await bootstrapMetricsViewer(modules);
}

/** SERVER: finds the shard of a workspace and forwards. */
export { completeFrontProxyOptions, frontProxyOptionSections, frontProxyOptionTable } from './options.ts';
export type { FrontProxyOptions, FrontProxyOptionValues } from './options.ts';
export { runFrontProxy } from './server.ts';
export type { FrontProxyModules } from './server.ts';
export { IndexFeeder } from './index/index-feeder.ts';
export type { IndexFeederModules } from './index/index-feeder.ts';
export { WorkspaceIndex } from './index/workspace-index.ts';
export type { Route, ShardAddress, ShardRoute } from './index/workspace-index.ts';

/** SERVER: finds the shard of a workspace and forwards. */
export { completeFrontProxyOptions, frontProxyOptionSections, frontProxyOptionTable } from './options.ts';
export type { FrontProxyOptions, FrontProxyOptionValues } from './options.ts';
export { runFrontProxy } from './server.ts';
export type { FrontProxyModules } from './server.ts';
export { IndexController } from './index/index-controller.ts';
export type { IndexControllerModules } from './index/index-controller.ts';
export { WorkspaceIndex } from './index/workspace-index.ts';
export type { Route, ShardAddress, ShardRoute } from './index/workspace-index.ts';

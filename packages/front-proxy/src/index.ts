/** SERVER: finds the shard of a workspace and forwards. */
export { completeFrontProxyOptions, frontProxyOptionSections, frontProxyOptionTable } from './options.ts';
export { runFrontProxy } from './server.ts';
export { WorkspaceIndex } from './index/workspace-index.ts';

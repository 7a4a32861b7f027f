/** SERVER: finds the shard of a workspace and forwards. */
export { completeFrontProxyOptions, frontProxyOptionSections, frontProxyOptionTable } from './options.ts';
export type { FrontProxyOptions, FrontProxyOptionValues } from './options.ts';
export { runFrontProxy } from './server.ts';
export type { FrontProxyModules } from './server.ts';

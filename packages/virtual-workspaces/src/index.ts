export * from './options.ts';
export { runVirtualWorkspaces } from './server.ts';
export type { VirtualWorkspacesModules } from './server.ts';
export { embedVirtualWorkspaces } from './embed.ts';
export type { EmbeddedVirtualWorkspacesOptions } from './embed.ts';

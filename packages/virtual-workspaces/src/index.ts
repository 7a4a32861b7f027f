export * from './options.ts';
export { runVirtualWorkspaces } from './server.ts';
export { embedVirtualWorkspaces } from './embed.ts';

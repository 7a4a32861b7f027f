/** Streams requests to other servers and their responses back. */
export { tlsErrorOf } from './error-classification.ts';
export { HeaderFilter } from './header-filter.ts';
export { maxMountHops, mountedCluster, mountTarget, mountUnreachable, type MountTarget } from './mount-target.ts';
export { hopsHeader, hopsOf } from './hop-headers.ts';
export { ReverseProxy } from './reverse-proxy.ts';
export type { RelayedBytes } from './relay.ts';
export { UpstreamError } from './upstream-error.ts';
export type { UpstreamIdentity, UpstreamIdentitySource } from './upstream-identity.ts';

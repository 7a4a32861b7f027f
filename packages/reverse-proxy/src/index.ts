/** Streams requests to other servers and their responses back. */
export { tlsErrorOf } from './error-classification.ts';
export type { TlsErrorType } from './error-classification.ts';
export { HeaderFilter } from './header-filter.ts';
export { maxMountHops, mountedCluster, mountTarget, mountUnreachable, type MountTarget } from './mount-target.ts';
export { hopsHeader, hopsOf } from './hop-headers.ts';
export type { ProxyExchange } from './proxy-exchange.ts';
export { defaultReverseProxyOptions, ReverseProxy } from './reverse-proxy.ts';
export type { ForwardTarget, ReverseProxyModules, ReverseProxyOptions } from './reverse-proxy.ts';
export { UpstreamError } from './upstream-error.ts';
export type { UpstreamFailure } from './upstream-error.ts';
export type { UpstreamIdentity, UpstreamIdentitySource } from './upstream-identity.ts';

/** TEST ONLY: real servers as child processes, a network that can be broken, certificates, waiting without sleeping. */
export type { TestCertificates } from './certificates.ts';
export { testCertificates } from './certificates.ts';
export { TestIssuer } from './test-issuer.ts';
export type { ChildServerOptions } from './child-server.ts';
export { ChildServer } from './child-server.ts';
export type { EtcdOptions } from './etcd-server.ts';
export { EtcdServer } from './etcd-server.ts';
export type { EventuallyOptions } from './eventually.ts';
export { eventually } from './eventually.ts';
export { findBinary } from './find-binary.ts';
export { freePorts } from './free-ports.ts';
export { freezeProcess } from './freeze-process.ts';
export { httpProbe } from './http-probe.ts';
export type { NatsOptions } from './nats-server.ts';
export { NatsServer } from './nats-server.ts';
export { TcpProxy } from './tcp-proxy.ts';
export { TempDir } from './temp-dir.ts';
export { apiExport, apiResourceSchema, exportedResource, type WantedSchema } from './shared-apis.ts';

/** The etcd backend has its own entry point, because its client library takes 200 ms to load. */
export type { EtcdClientModules, EtcdOperation } from './etcd-client.ts';
export type { EtcdTls } from './transport/etcd-tls.ts';
export { openEtcdStorage } from './open-etcd-storage.ts';

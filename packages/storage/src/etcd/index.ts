/** The etcd backend, apart from the others: its client library takes a fifth of a second to load. */
export type { EtcdTls } from './etcd-client.ts';
export { EtcdStorage } from './etcd-storage.ts';
export { type EtcdStorageOptions, openEtcdStorage } from './open-etcd-storage.ts';

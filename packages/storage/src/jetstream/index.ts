/** The JetStream backend, apart from the others: only servers that are given NATS servers load its client library. */
export { JetStreamStorage } from './jetstream-storage.ts';
export { LateJetStreamStorage } from './late-jetstream-storage.ts';
export { type JetStreamStorageOptions, openJetStreamStorage } from './open-jetstream-storage.ts';

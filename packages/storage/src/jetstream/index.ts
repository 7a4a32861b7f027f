/** The JetStream backend has its own entry point, so that only servers with NATS load its client library. */
export { JetStreamStorage } from './jetstream-storage.ts';
export { LazyJetStreamStorage } from './lazy-jetstream-storage.ts';
export { type JetStreamStorageOptions, openJetStreamStorage } from './open-jetstream-storage.ts';

/** The JetStream backend has its own entry point, so that only servers with NATS load its client library. */
export { LazyJetStreamStorage } from './lazy-jetstream-storage.ts';
export { openJetStreamStorage } from './open-jetstream-storage.ts';

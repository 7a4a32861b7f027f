/** Encryption at rest has its own entry point, because its libraries are only loaded where it is configured. */
export { EncryptedStorage } from './encrypted-storage.ts';
export { parseEncryptionConfiguration, ResourceTransformers } from './encryption-configuration.ts';
export { KmsProviders } from './kms/kms-providers.ts';

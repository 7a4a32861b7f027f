import { errorText } from '@multiplane/apimachinery';
import {
  type CertificateWatcher,
  type Clock,
  type HealthChecks,
  type Logger,
  type MetricsRegistry,
  OptionError,
  type Timer,
} from '@multiplane/component-base';
import type { Storage } from '@multiplane/storage';
import type { ResourceTransformers } from '@multiplane/storage/encryption';
import type { ShardOptions } from './options.ts';

export interface EncryptStorageModules {
  readonly storage: Storage;
  readonly certificates: CertificateWatcher;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: MetricsRegistry;
  readonly health: HealthChecks;
  /** Aborts when the shard is to stop. */
  readonly signal: AbortSignal;
}

/** Further failures of one kind are logged again after this time. */
const logIntervalMs = 60_000;
/** Values that cannot be decrypted are tried again after this time. */
const retryIntervalMs = 10_000;

export interface EncryptionAtRest {
  /** The store with plain values. */
  readonly storage: Storage;
  /**
   * Resolves once all KMS plugins respond: until then, values that they encrypt cannot be read and written. True if the caller had to
   * wait; then the watch cache loads such values again within {@link retryIntervalMs}.
   */
  readonly responding: () => Promise<boolean>;
}

/**
 * The store with encryption at rest, if `--encryption-provider-config` is set; otherwise the store itself, with a guard that
 * costs nothing: values that an earlier configuration encrypted are not readable. Throws OptionError for an unusable file.
 */
export async function encryptStorage(options: ShardOptions, modules: EncryptStorageModules): Promise<EncryptionAtRest> {
  const { storage, certificates, clock, logger, registry, health, signal } = modules;
  const file = options.encryptionProviderConfig;
  if (file === undefined) return { storage, responding: async () => false };
  const { EncryptedStorage, KmsProviders, parseEncryptionConfiguration } =
    await import('@multiplane/storage/encryption');
  const kms = new KmsProviders({ clock, logger, signal });
  const read = (text: string, mustRespond: boolean): Promise<ResourceTransformers> =>
    kms.replace((connect) => parseEncryptionConfiguration(text, file, { kms: connect }), { mustRespond });
  let current: ResourceTransformers;
  try {
    const watched = certificates.watch('encryption-provider-config', (readText) => readText(file));
    // Like kube-apiserver, a shard starts without its KMS plugin: it is not ready, and reads what needs no plugin.
    current = await read(watched.current, false);
    if (options.encryptionProviderConfigAutomaticReload) {
      let reloading = Promise.resolve();
      const reload = async (text: string): Promise<void> => {
        try {
          current = await read(text, true);
          logger.info('reloaded the encryption configuration', { file });
        } catch (error) {
          logger.error('failed to reload the encryption configuration, keeping the previous one', { file, error });
        }
      };
      watched.onChange((text) => (reloading = reloading.then(() => reload(text))));
    }
  } catch (error) {
    throw new OptionError(`--encryption-provider-config: ${errorText(error)}`, { cause: error });
  }
  const transformers = {
    get current(): ResourceTransformers {
      return current;
    },
  };
  health.add('kms-providers', () => kms.check(), { endpoints: ['healthz', 'readyz'] });
  const failures = registry.counter({
    name: 'apiserver_storage_decode_errors_total',
    help: 'Stored objects that could not be decrypted.',
  });
  let loggedAt = -Infinity;
  const onFailure = (key: string, error: unknown): void => {
    failures.add(1);
    retryLater();
    if (clock.monotonic() - loggedAt < logIntervalMs) return;
    loggedAt = clock.monotonic();
    logger.error('failed to decrypt a stored object; is its key missing in --encryption-provider-config?', {
      key,
      error,
    });
  };
  const encrypted = new EncryptedStorage({ storage, transformers, onFailure });
  let timer: Timer | undefined;
  const retry = async (): Promise<void> => {
    timer = undefined;
    let result: Awaited<ReturnType<typeof encrypted.retryUndecryptable>> = 'unreadable';
    try {
      result = await encrypted.retryUndecryptable();
    } catch {
      // The store does not respond.
    }
    if (result === 'unreadable') retryLater();
    if (result === 'readable') logger.info('stored objects can be decrypted again, the watch cache loads them');
  };
  const retryLater = (): void => {
    if (!signal.aborted) timer ??= clock.after(retryIntervalMs, () => void retry());
  };
  signal.addEventListener('abort', () => timer?.cancel(), { once: true });
  return { storage: encrypted, responding: () => kms.responding() };
}

import { parseYaml } from '@multiplane/apimachinery';
import {
  addProcessMetrics,
  CertificateWatcher,
  type Clock,
  HealthChecks,
  type Logger,
  makeRootDirectory,
  MetricsRegistry,
  ObjectFaults,
  openTracer,
  systemClock,
  type Tracer,
} from '@multiplane/component-base';
import { RestClientMetrics } from '@multiplane/client';
import { RequestMetrics } from '@multiplane/generic-server';
import type { Storage } from '@multiplane/storage';
import type { ShardOptions } from '../options.ts';
import { prepareServingFiles, type ServingFiles } from '../serving-files.ts';
import { encryptStorage } from '../encrypt-storage.ts';
import { openStorageBackend } from '../storage-backend.ts';

/** What all later wiring stages use: storage, certificates, clock, logger, health checks and metrics. */
export interface Infrastructure {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts when the shard is to stop. */
  readonly signal: AbortSignal;
  readonly certificates: CertificateWatcher;
  readonly files: ServingFiles;
  /** The CA bundle that clients verify the shard with (PEM). */
  readonly rootCa: () => string;
  /** Values are plain here, also when they are encrypted in the store. */
  readonly storage: Storage;
  /** The store itself, with encrypted values; for snapshots. */
  readonly rawStorage: Storage;
  /** Resolves once all KMS plugins respond; to true if the caller had to wait, and values that they encrypt are still being loaded. */
  readonly kmsResponding: () => Promise<boolean>;
  readonly health: HealthChecks;
  readonly registry: MetricsRegistry;
  readonly metrics: RequestMetrics;
  /** Objects that could not be evaluated. */
  readonly faults: ObjectFaults;
  /** Of requests to other servers. */
  readonly restMetrics: RestClientMetrics;
  /** Absent without `--tracing-config-file`. */
  readonly tracer: Tracer | undefined;
}

/** Creates the root directory, reads or creates keys and certificates, and opens the storage backend. */
export async function openInfrastructure(
  options: ShardOptions,
  modules: { readonly logger: Logger; readonly signal: AbortSignal; readonly version: string },
): Promise<Infrastructure> {
  const { logger, signal } = modules;
  const clock = systemClock;
  await makeRootDirectory(options.rootDirectory);
  const certificates = new CertificateWatcher({}, { clock, logger });
  const registry = new MetricsRegistry();
  addProcessMetrics(registry);
  const health = new HealthChecks();
  const [files, rawStorage, tracer] = await Promise.all([
    prepareServingFiles(options, { watcher: certificates, logger }),
    openStorageBackend(options, { certificates, logger, registry }),
    openTracer({ ...options, service: 'multiplane-shard', version: modules.version }, { decode: parseYaml }),
  ]);
  const encryption = { storage: rawStorage, certificates, clock, logger, registry, health, signal };
  const { storage, responding } = await encryptStorage(options, encryption);
  return {
    clock,
    logger,
    signal,
    certificates,
    files,
    rootCa: () => files.rootCa.current,
    storage,
    rawStorage,
    kmsResponding: responding,
    health,
    registry,
    metrics: new RequestMetrics(registry, { readsFromCache: true }),
    faults: new ObjectFaults({ logger, registry }),
    restMetrics: new RestClientMetrics(registry),
    tracer,
  };
}

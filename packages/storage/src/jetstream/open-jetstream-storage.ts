import { type Clock, systemClock } from '@multiplane/component-base';
import { type WatchFailureModules, WatchFailureReporter } from '../watch-failure-reporter.ts';
import type { NatsTarget } from '../nats-options.ts';
import { JetStreamStorage } from './jetstream-storage.ts';
import { RelistRequests } from './relist-requests.ts';
import { StreamClient } from './stream-client.ts';
import { CompactionWatermark } from './compaction-watermark.ts';
import { StreamSubjects } from './stream-subjects.ts';
import { StreamWriter } from './stream-writer.ts';
import { TombstoneSweeper } from './tombstone-sweeper.ts';

export interface JetStreamStorageOptions extends NatsTarget {
  /** Replicas of the stream in a cluster of NATS servers; 1. Only used when the stream is created. */
  readonly replicas?: number | undefined;
  /** Milliseconds between sweeps of tombstones; 5 minutes. 0: another component sweeps. */
  readonly sweepIntervalMs?: number | undefined;
  /** Milliseconds for which tombstones are kept at least; 10 minutes. A reader that lags further behind lists again. */
  readonly tombstoneMs?: number | undefined;
  /** Milliseconds until a request to NATS fails; 5 seconds. */
  readonly requestTimeoutMs?: number | undefined;
  /** The largest value that is sent; 1.5 MiB, if `max_payload` of the server permits. */
  readonly maxValueBytes?: number | undefined;
  /** Milliseconds since the epoch; for the age of tombstones. */
  readonly now?: (() => number) | undefined;
}

export interface OpenJetStreamStorageModules extends WatchFailureModules {
  /** For audits of the stream; the system's. */
  readonly clock?: Clock | undefined;
  /** Spreads the lists of several writers; `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/**
 * Opens the store in a stream, which is created when it does not exist. Throws StorageUnavailableError when NATS does not
 * respond, StorageUnusableError for a stream with another configuration.
 */
export async function openJetStreamStorage(
  options: JetStreamStorageOptions,
  modules?: OpenJetStreamStorageModules,
): Promise<JetStreamStorage> {
  const clock = modules?.clock ?? systemClock;
  const watchFailures = new WatchFailureReporter(modules);
  const client = await StreamClient.connect(options, options.requestTimeoutMs ?? 5000);
  const subjects = new StreamSubjects(options.subjectPrefix);
  const watermark = new CompactionWatermark({ replicas: options.replicas ?? 1 }, { client, subjects });
  try {
    await watermark.ensure();
  } catch (error) {
    await client.close();
    throw error;
  }
  return new JetStreamStorage({
    client,
    subjects,
    watermark,
    watchFailures,
    relistRequests: new RelistRequests({ client, subjects, clock }),
    clock,
    random: modules?.random ?? Math.random,
    writer: new StreamWriter(
      { maxValueBytes: options.maxValueBytes ?? 1.5 * 2 ** 20, attempts: 3 },
      { client, watermark, subjects },
    ),
    sweeper: new TombstoneSweeper(
      { intervalMs: options.sweepIntervalMs ?? 5 * 60_000, keepMs: options.tombstoneMs ?? 10 * 60_000 },
      { client, watermark, subjects, watchFailures, now: options.now ?? Date.now },
    ),
  });
}

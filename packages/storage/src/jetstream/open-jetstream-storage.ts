import { type InterruptionModules, Interruptions } from '../interruptions.ts';
import type { NatsTarget } from '../nats-options.ts';
import { JetStreamStorage } from './jetstream-storage.ts';
import { StreamClient } from './stream-client.ts';
import { StreamFloor } from './stream-floor.ts';
import { StreamSubjects } from './stream-subjects.ts';
import { StreamWriter } from './stream-writer.ts';
import { TombstoneSweeper } from './tombstone-sweeper.ts';

export interface JetStreamStorageOptions extends NatsTarget {
  /** Copies of the stream that a cluster of NATS servers keeps; 1. Only for a stream that is not there yet. */
  readonly replicas?: number | undefined;
  /** Milliseconds between sweeps of tombstones; 5 minutes. 0: somebody else sweeps. */
  readonly sweepIntervalMs?: number | undefined;
  /** How long tombstones stand at least; 10 minutes. A reader that lags further behind must list again. */
  readonly tombstoneMs?: number | undefined;
  /** How long NATS may take to answer; 5 seconds. */
  readonly requestTimeoutMs?: number | undefined;
  /** The largest value that is sent; 1.5 MiB, as far as the server takes it (`max_payload`). */
  readonly maxValueBytes?: number | undefined;
  /** Milliseconds since the epoch; for the age of tombstones. */
  readonly now?: (() => number) | undefined;
}

/**
 * Opens the store in a stream, and makes the stream when it is not there. Throws StorageUnavailableError when NATS does
 * not answer, StorageUnusableError for a stream of another kind.
 */
export async function openJetStreamStorage(
  options: JetStreamStorageOptions,
  modules?: InterruptionModules,
): Promise<JetStreamStorage> {
  const interruptions = new Interruptions(modules);
  const client = await StreamClient.connect(options, options.requestTimeoutMs ?? 5000);
  const subjects = new StreamSubjects(options.subjectPrefix);
  const floor = new StreamFloor({ replicas: options.replicas ?? 1 }, client, subjects);
  try {
    await floor.ensure();
  } catch (error) {
    await client.close();
    throw error;
  }
  return new JetStreamStorage({
    client,
    subjects,
    floor,
    interruptions,
    writer: new StreamWriter(
      { maxValueBytes: options.maxValueBytes ?? 1.5 * 2 ** 20, attempts: 3 },
      { client, floor, subjects },
    ),
    sweeper: new TombstoneSweeper(
      { intervalMs: options.sweepIntervalMs ?? 5 * 60_000, keepMs: options.tombstoneMs ?? 10 * 60_000 },
      { client, floor, subjects, interruptions, now: options.now ?? Date.now },
    ),
  });
}

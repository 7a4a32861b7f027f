import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Clock } from '@multiplane/component-base';
import type { StreamClient } from './stream-client.ts';
import type { StreamSubjects } from './stream-subjects.ts';

/** The keys that a reader listed. */
export interface ListedKeys {
  /** The last sequence of the stream when the list began. */
  readonly through: number;
  /** Keys whose last message has at most that sequence, by `StreamSubjects.resourceOf`; absent: 0. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface RelistRequest {
  /** Position of the request: a later list has seen its reason. */
  readonly sequence: number;
  /** Only writers with other keys have to list again; undefined: all. */
  readonly keys: ListedKeys | undefined;
}

export interface RelistRequestsModules {
  readonly client: StreamClient;
  readonly subjects: StreamSubjects;
  readonly clock: Clock;
}

/** Between two reads of the last request. */
const intervalMs = 5_000;
/** Limits of a body; what exceeds them is a request to all writers. */
const maxCounts = 20_000;
const maxBodyBytes = 64 << 10;
const maxTextBytes = 4 << 20;

/**
 * Requests to the writers of keys to list them again, because the stream may have lost some: an internal message. Readers
 * publish it, {@link RelistOnRequest} is its receiver. All writers of a process share one read per interval.
 */
export class RelistRequests {
  readonly #modules: RelistRequestsModules;
  #readAt = -Infinity;
  #last: Promise<RelistRequest | undefined> = Promise.resolve(undefined);

  constructor(modules: RelistRequestsModules) {
    this.#modules = modules;
  }

  /** The last request, as it was at most five seconds ago. */
  async last(): Promise<RelistRequest | undefined> {
    const now = this.#modules.clock.monotonic();
    if (now - this.#readAt >= intervalMs) {
      this.#readAt = now;
      this.#last = this.#read(this.#last);
      this.#last.catch(() => (this.#readAt = -Infinity));
    }
    return await this.#last;
  }

  /** Publishes a request to all writers unless another reader did after this sequence. */
  async ensureAfter(sequence: number): Promise<void> {
    const last = await this.#read();
    if (last !== undefined && last.sequence > sequence && last.keys === undefined) return;
    await this.#publish(Buffer.alloc(0));
  }

  /** Publishes a request to the writers that have other keys. */
  async publish({ through, counts }: ListedKeys): Promise<void> {
    const body: RequestBody = { through, counts: [...counts] };
    const data = counts.size > maxCounts ? undefined : deflateRawSync(JSON.stringify(body));
    await this.#publish(data === undefined || data.length > maxBodyBytes ? Buffer.alloc(0) : data);
  }

  async #publish(data: Buffer): Promise<void> {
    const { client, subjects } = this.#modules;
    await client.publish({ subject: subjects.relist, data, headers: {} });
  }

  async #read(before?: Promise<RelistRequest | undefined>): Promise<RelistRequest | undefined> {
    const { client, subjects } = this.#modules;
    const known = await before?.catch(() => undefined);
    const message = await client.lastMessage(subjects.relist);
    if (message === undefined || message.sequence === known?.sequence) return known;
    return { sequence: message.sequence, keys: decode(message.data) };
  }
}

interface RequestBody {
  readonly through: number;
  readonly counts: readonly (readonly [string, number])[];
}

/** Undefined for an empty body, and for one of another version that cannot be decoded. */
function decode(data: Buffer): ListedKeys | undefined {
  if (data.length === 0) return undefined;
  try {
    const text = inflateRawSync(data, { maxOutputLength: maxTextBytes }).toString();
    const { through, counts } = JSON.parse(text) as RequestBody;
    return { through, counts: new Map(counts) };
  } catch {
    return undefined;
  }
}

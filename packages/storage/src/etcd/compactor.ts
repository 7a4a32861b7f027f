import type { Interruptions } from '../interruptions.ts';
import type { EtcdClient } from './etcd-client.ts';
import { isRevisionError } from './etcd-errors.ts';
import { compactionKey, type EtcdKeys } from './etcd-keys.ts';

export interface CompactorOptions {
  /** How long history is kept at least; twice that at most. */
  readonly intervalMs: number;
}

export interface CompactorModules {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  readonly interruptions: Interruptions;
}

/**
 * Compacts etcd regularly, as the only one of however many processes share it.
 *
 * At every interval a process notes the revision of now, and compacts to the one it noted the time before. A hidden key
 * holds the last noted revision, and its `version` is a counter: whoever moves it from the number it knows to the next
 * has the turn; who fails has been overtaken, learns the number and the revision, and waits for the next interval. So
 * history is kept for one interval at least, whichever processes come and go. The scheme is Kubernetes'.
 */
export class Compactor {
  readonly #client: EtcdClient;
  readonly #keys: EtcdKeys;
  /** No further turns. */
  readonly close: () => void;
  #known: { readonly turn: number; readonly revision: number } = { turn: 0, revision: 0 };

  constructor({ intervalMs }: CompactorOptions, { client, keys, interruptions }: CompactorModules) {
    this.#client = client;
    this.#keys = keys;
    this.close = interruptions.everyInterval(intervalMs, () => this.turn(), client.closed);
  }

  /** One turn; returns the revision that it compacted to, 0 when it was another's turn or there was nothing to do. */
  async turn(): Promise<number> {
    const { turn, revision: previous } = this.#known;
    const key = this.#keys.encode(compactionKey);
    const now = await this.#client.range({ ...this.#keys.hidden, count_only: true });
    const current = Number(now.header.revision);
    const { succeeded, responses } = await this.#client.transaction({
      compare: [{ key, target: 'Version', result: 'Equal', version: turn }],
      success: [{ request_put: { key, value: Buffer.from(String(current)) } }],
      failure: [{ request_range: { key } }],
    });
    if (!succeeded) {
      const found = responses[0]?.response_range?.kvs[0];
      this.#known = { turn: Number(found?.version ?? 0), revision: Number(found?.value.toString() ?? 0) };
      return 0;
    }
    this.#known = { turn: turn + 1, revision: current };
    if (previous === 0) return 0;
    try {
      await this.#client.compact(previous);
    } catch (error) {
      // Somebody has compacted further.
      if (!isRevisionError(error)) throw error;
    }
    return previous;
  }
}

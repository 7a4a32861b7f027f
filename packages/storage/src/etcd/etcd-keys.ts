import { registryPrefix } from '../keys.ts';

/**
 * Internal keys of the backend are below this prefix. They are inside the range that a shard watches, so that writing one
 * advances the watch, and are hidden from the users of the store.
 */
const hiddenPrefix = `${registryPrefix}!`;
export const markerKey = `${hiddenPrefix}progress`;
export const compactionKey = `${hiddenPrefix}compacted`;

/** Maps keys of the store to keys of etcd, where several stores may share a cluster with different prefixes. */
export class EtcdKeys {
  readonly #prefix: string;
  /** The range of the hidden keys. */
  readonly hidden: { readonly key: Buffer; readonly range_end: Buffer };

  constructor(prefix: string) {
    this.#prefix = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix;
    this.hidden = { key: this.encode(hiddenPrefix), range_end: this.#end(hiddenPrefix) };
  }

  encode(key: string): Buffer {
    return Buffer.from(this.#prefix + key);
  }

  decode(key: Buffer): string {
    return key.toString('utf8', Buffer.byteLength(this.#prefix));
  }

  /** The range of a prefix from a key on. Every key starts with `/`, and the range of all keys contains no others. */
  range(prefix: string, from: string = prefix): { readonly key: Buffer; readonly range_end: Buffer } {
    return { key: this.encode(from === '' ? '/' : from), range_end: this.#end(prefix === '' ? '/' : prefix) };
  }

  /** True for internal keys of the backend. */
  isHidden(key: string): boolean {
    return key.startsWith(hiddenPrefix);
  }

  /** True when a watch of the prefix receives the hidden keys. */
  coversHidden(prefix: string): boolean {
    return registryPrefix.startsWith(prefix);
  }

  /** The first key after all keys with the prefix. */
  #end(prefix: string): Buffer {
    const end = this.encode(prefix);
    for (let i = end.length - 1; i >= 0; i--) {
      const byte = end[i] as number;
      if (byte < 0xff) {
        end[i] = byte + 1;
        return end.subarray(0, i + 1);
      }
    }
    return Buffer.from([0]);
  }
}

import { registryPrefix } from '../keys.ts';

/**
 * Keys that the backend keeps for itself stand below this one. They lie inside the range that a shard watches, so that
 * writing one moves the watch on, and are hidden from everybody above.
 */
const hiddenPrefix = `${registryPrefix}!`;
export const markerKey = `${hiddenPrefix}progress`;
export const compactionKey = `${hiddenPrefix}compacted`;

/** Between the keys of the store and those of etcd, where several stores may live side by side. */
export class EtcdKeys {
  readonly #prefix: string;
  /** First key after all of them that are hidden. */
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

  /** The range of a prefix, from a key on. Every key begins with a slash, and the range of all of them does not go beyond. */
  range(prefix: string, from: string = prefix): { readonly key: Buffer; readonly range_end: Buffer } {
    return { key: this.encode(from === '' ? '/' : from), range_end: this.#end(prefix === '' ? '/' : prefix) };
  }

  /** True for the keys that only the backend knows. */
  isHidden(key: string): boolean {
    return key.startsWith(hiddenPrefix);
  }

  /** True when a watch of the prefix sees the hidden keys. */
  coversHidden(prefix: string): boolean {
    return registryPrefix.startsWith(prefix);
  }

  /** The first text after everything that begins with the prefix. */
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

/** Bytes that one list may keep in any case. */
const minBytes = 4 * 1024 * 1024;
/** What the lists of a reader may keep beyond that, all of them together: it is as long in memory as slow clients read. */
const maxSharedBytes = 24 * 1024 * 1024;

/** Counts the encoded items that the lists of a reader keep between their two passes. */
export class KeptBytes {
  #shared = 0;

  /** The count of one list. */
  open(): ListBytes {
    let own = 0;
    let shared = 0;
    return {
      add: (bytes) => {
        if (own + bytes <= minBytes) {
          own += bytes;
          return true;
        }
        if (this.#shared + bytes > maxSharedBytes) return false;
        this.#shared += bytes;
        shared += bytes;
        return true;
      },
      release: () => {
        this.#shared -= shared;
        shared = 0;
      },
    };
  }
}

export interface ListBytes {
  /** False: the bytes must not be kept. */
  add(bytes: number): boolean;
  /** The list is written, or its client has gone. */
  release(): void;
}

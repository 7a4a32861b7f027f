import { statfsSync } from 'node:fs';

/** How long, and for how many written bytes, an answer of the file system holds. */
const validMs = 100;
const validBytes = 1 << 20;

/**
 * Knows whether the disk has room. Below the reserve nothing may grow any more, while removing, which also takes room
 * until the history has been trimmed, goes on: so a full store can be emptied, and there is room for the files that
 * merging makes.
 */
export class RoomGuard {
  readonly #folder: string;
  readonly #reserveBytes: number;
  #low = false;
  #askedAt = -Infinity;
  #written = 0;

  constructor(folder: string, reserveBytes: number) {
    this.#folder = folder;
    this.#reserveBytes = reserveBytes;
  }

  /** True when less than the reserve is free. */
  isLow(): boolean {
    const now = performance.now();
    if (now - this.#askedAt < validMs && this.#written < validBytes) return this.#low;
    this.#askedAt = now;
    this.#written = 0;
    this.#low = this.freeBytes() < this.#reserveBytes;
    return this.#low;
  }

  wrote(bytes: number): void {
    this.#written += bytes;
  }

  /** Infinity when the file system does not say. */
  freeBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(this.#folder);
      return bavail * bsize;
    } catch {
      return Infinity;
    }
  }
}

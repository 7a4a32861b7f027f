import { statfsSync } from 'node:fs';

/** The result of statfs is cached for this time, and for this many written bytes. */
const validMs = 100;
const validBytes = 1 << 20;

/**
 * Checks the free disk space. Below the reserve, writes that grow the store are refused; deletes, which need space too
 * until the history is trimmed, are accepted, so that a full store can be emptied and segment compaction has space for its
 * output.
 */
export class DiskSpaceGuard {
  readonly #directory: string;
  readonly #reserveBytes: number;
  #low = false;
  #askedAt = -Infinity;
  #written = 0;

  constructor(directory: string, reserveBytes: number) {
    this.#directory = directory;
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

  /** Infinity when statfs fails. */
  freeBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(this.#directory);
      return bavail * bsize;
    } catch {
      return Infinity;
    }
  }
}

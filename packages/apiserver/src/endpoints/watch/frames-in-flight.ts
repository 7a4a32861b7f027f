import type { CacheEvent } from '@multiplane/storage';

/** Frames of large events that are being encoded in time slices, shared by all watches that receive the same bytes. */
export class FramesInFlight {
  readonly #frames = new WeakMap<CacheEvent, Map<string, Promise<Buffer>>>();

  /** The frame of an event under a key of its form; `encode` is called unless another watch did so. */
  of(event: CacheEvent, key: string, encode: () => Promise<Buffer>): Promise<Buffer> {
    let frames = this.#frames.get(event);
    if (frames === undefined) {
      frames = new Map();
      this.#frames.set(event, frames);
    }
    let frame = frames.get(key);
    if (frame === undefined) {
      const forget = (): unknown => frames.delete(key);
      frame = encode().finally(forget);
      frames.set(key, frame);
    }
    return frame;
  }
}

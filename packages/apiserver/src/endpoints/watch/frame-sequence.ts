export interface FrameSequenceOptions {
  /** Bytes of events that may wait for frames before them. */
  readonly maxWaitingBytes: number;
}

export interface FrameSequenceModules {
  readonly deliver: (frame: Buffer) => void;
  /** A frame could not be encoded, or too many wait. */
  readonly fail: () => void;
}

interface Waiting {
  readonly frame: Buffer | Promise<Buffer>;
  readonly bytes: number;
}

/** Delivers the frames of a watch in the order of its events; those after one that is being encoded wait for it. */
export class FrameSequence {
  readonly #options: FrameSequenceOptions;
  readonly #modules: FrameSequenceModules;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;

  constructor(options: FrameSequenceOptions, modules: FrameSequenceModules) {
    this.#options = options;
    this.#modules = modules;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** `bytes`: about the length of the frame. */
  push(frame: Buffer | Promise<Buffer>, bytes: number): void {
    if (!this.isWaiting && Buffer.isBuffer(frame)) {
      this.#modules.deliver(frame);
      return;
    }
    // A frame that is dropped has no other handler for its rejection.
    if (!Buffer.isBuffer(frame)) frame.catch(() => undefined);
    if (this.isWaiting && this.#waitingBytes + bytes > this.#options.maxWaitingBytes) {
      this.#modules.fail();
      return;
    }
    this.#waiting.push({ frame, bytes });
    this.#waitingBytes += bytes;
    if (this.#waiting.length === 1) void this.#run();
  }

  /** Drops what waits. */
  close(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  async #run(): Promise<void> {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      let frame: Buffer;
      try {
        frame = Buffer.isBuffer(first.frame) ? first.frame : await first.frame;
      } catch {
        if (this.#waiting[0] === first) this.#modules.fail();
        return;
      }
      if (this.#waiting[0] !== first) return;
      this.#waiting.shift();
      this.#waitingBytes -= first.bytes;
      this.#modules.deliver(frame);
    }
  }
}

import { once } from 'node:events';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
}

/**
 * A TCP proxy between a client and a server under test, to inject network faults: reset connections, also in the middle of a
 * response, stall them, or refuse new ones.
 */
export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: number;
  readonly #links = new Set<Link>();
  #stalled = false;
  #withholding = false;
  #refusing = false;
  #delayMs = 0;
  #cutAfterBytes: number | undefined;
  #onCut: (() => void) | undefined;
  #accepted = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  /** Forwards a new port on 127.0.0.1 to `target` on 127.0.0.1. */
  static async start(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Open connections. */
  get connections(): number {
    return this.#links.size;
  }

  /** Connections since the start, including refused ones. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Resets all open connections; new ones are accepted. */
  cut(): void {
    for (const link of this.#links) this.#reset(link);
  }

  /** Resets all connections once `bytes` more have reached the clients; resolves after that. */
  cutAfter(bytes: number): Promise<void> {
    this.#cutAfterBytes = bytes;
    return new Promise((resolve) => {
      this.#onCut = resolve;
    });
  }

  /** Keeps connections open and forwards nothing, as a network that drops packets. */
  pause(): void {
    this.#stalled = true;
    for (const { client, upstream } of this.#links) {
      client.pause();
      upstream.pause();
    }
  }

  /** Forwards to the server only: requests are executed, their responses never arrive. */
  withhold(): void {
    this.#withholding = true;
    for (const { upstream } of this.#links) upstream.pause();
  }

  /** Ends {@link pause} and {@link withhold}. */
  resume(): void {
    this.#stalled = false;
    this.#withholding = false;
    for (const { client, upstream } of this.#links) {
      client.resume();
      upstream.resume();
    }
  }

  /** Delays everything that is forwarded from now on, in both directions, as a distant or busy server; 0 ends it. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  /** Resets open connections, and new ones until {@link accept}. */
  refuse(): void {
    this.#refusing = true;
    this.cut();
  }

  /** Ends {@link refuse}. */
  accept(): void {
    this.#refusing = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  #accept(client: Socket): void {
    this.#accepted += 1;
    if (this.#refusing) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true });
    const link: Link = { client, upstream };
    this.#links.add(link);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.setNoDelay(true);
      let lastDue = 0;
      from.on('data', (chunk) => {
        // Timers of one duration fire in the order in which they were set; one that is shorter must not overtake.
        const due = Math.max(performance.now() + this.#delayMs, lastDue);
        if (due <= performance.now()) return this.#forward(link, from, to, chunk);
        lastDue = due;
        setTimeout(() => this.#forward(link, from, to, chunk), due - performance.now());
      });
      to.on('drain', () => {
        if (!this.#stalled && !(this.#withholding && from === upstream)) from.resume();
      });
      from.on('end', () => void setTimeout(() => to.end(), Math.max(0, lastDue - performance.now())));
      from.on('error', () => this.#reset(link));
      from.on('close', () => {
        if (to.destroyed) this.#links.delete(link);
      });
    }
    if (this.#stalled) client.pause();
    if (this.#stalled || this.#withholding) upstream.pause();
  }

  #forward(link: Link, from: Socket, to: Socket, chunk: Buffer): void {
    const limit = from === link.upstream ? this.#cutAfterBytes : undefined;
    if (limit !== undefined && chunk.length >= limit) {
      this.#cutAfterBytes = undefined;
      // The bytes before the cut must arrive, so the reset follows the write.
      to.write(chunk.subarray(0, limit), () => {
        this.cut();
        this.#onCut?.();
      });
      return;
    }
    if (limit !== undefined) this.#cutAfterBytes = limit - chunk.length;
    // The other end may have closed while the chunk was delayed.
    if (!to.writable) return;
    if (!to.write(chunk)) from.pause();
  }

  #reset(link: Link): void {
    this.#links.delete(link);
    link.client.resetAndDestroy();
    link.upstream.resetAndDestroy();
  }
}

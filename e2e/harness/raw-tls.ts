import { connect, type TLSSocket } from 'node:tls';
import type { ControlPlane } from './control-plane.ts';

/** Bytes to a server and back, without an HTTP client in between that would mend them. */
export class RawTls implements Disposable {
  readonly #socket: TLSSocket;
  #received = '';
  #closed = false;
  readonly #waiting = new Set<() => void>();
  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      this.#received += chunk;
      this.#changed();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#closed = true;
      this.#changed();
    });
  }

  static open(cluster: Pick<ControlPlane, 'port' | 'ca'>): Promise<RawTls> {
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: '127.0.0.1',
        port: cluster.port,
        ca: cluster.ca,
        servername: 'localhost',
        ALPNProtocols: ['http/1.1'],
      });
      socket.once('error', reject);
      socket.once('secureConnect', () => resolve(new RawTls(socket)));
    });
  }

  get received(): string {
    return this.#received;
  }
  get closed(): boolean {
    return this.#closed;
  }

  send(text: string): void {
    this.#socket.write(text, 'latin1');
  }

  #changed(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** Waits until the condition holds, the connection ends or time is up; tells which of it. */
  async until(condition: () => boolean, timeoutMs = 5_000): Promise<'held' | 'closed' | 'timeout'> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      if (condition()) return 'held';
      if (this.#closed) return 'closed';
      const left = deadline - performance.now();
      if (left <= 0) return 'timeout';
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiting.add(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Statuses of the answers so far, in their order. */
  get statuses(): number[] {
    return [...this.#received.matchAll(/HTTP\/1\.1 (\d{3})[^\r]*\r\n/g)].map((match) => Number(match[1]));
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

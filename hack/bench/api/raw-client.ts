import { connect, type TLSSocket } from 'node:tls';

const headerEnd = Buffer.from('\r\n\r\n');

/** A client certificate and its key (PEM). */
export interface ClientPair {
  readonly cert?: string;
  readonly key?: string;
}

/**
 * One HTTP/1.1 connection that sends one request at a time and reads answers with a content-length or in chunks. Nothing
 * else: a client that did more would measure itself.
 */
export class RawConnection {
  readonly #socket: TLSSocket;
  #pending:
    | { resolve: (answer: { status: number; bytes: number }) => void; reject: (error: Error) => void }
    | undefined;
  #head: Buffer = Buffer.alloc(0);
  #status = 0;
  /** Bytes of the body still to come; -1: chunks, until the last one. */
  #left = 0;
  #bytes = 0;
  #inBody = false;
  #tail = Buffer.alloc(0);

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    // Neither side may wait for the other's acknowledgements: that would measure timers.
    socket.setNoDelay(true);
    socket.on('data', (data: Buffer) => this.#take(data));
    const fail = (): void => this.#pending?.reject(new Error('the connection was closed'));
    socket.on('error', fail);
    socket.on('close', fail);
  }

  static open(port: number, identity: ClientPair = {}): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'], ...identity };
      const socket = connect(options, () => resolve(new RawConnection(socket)));
      socket.once('error', reject);
    });
  }

  /** Sends a whole request; resolves when the answer is complete. */
  send(request: Buffer | string): Promise<{ status: number; bytes: number }> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(data: Buffer): void {
    if (!this.#inBody) {
      this.#head = this.#head.length === 0 ? data : Buffer.concat([this.#head, data]);
      const end = this.#head.indexOf(headerEnd);
      if (end < 0) return;
      const text = this.#head.toString('latin1', 0, end);
      this.#status = Number(text.slice(9, 12));
      const length = /\r\ncontent-length: *(\d+)/i.exec(text);
      this.#left = length === null ? -1 : Number(length[1]);
      this.#bytes = 0;
      this.#tail = Buffer.alloc(0);
      this.#inBody = true;
      const rest = this.#head.subarray(end + headerEnd.length);
      this.#head = Buffer.alloc(0);
      data = rest;
    }
    this.#bytes += data.length;
    if (this.#left >= 0) {
      if (this.#bytes >= this.#left) this.#done();
      return;
    }
    this.#tail = Buffer.concat([this.#tail, data.subarray(Math.max(0, data.length - 8))]).subarray(-8);
    if (this.#tail.includes('0\r\n\r\n')) this.#done();
  }

  #done(): void {
    this.#inBody = false;
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.resolve({ status: this.#status, bytes: this.#bytes });
  }
}

/** Requests per second of `clients` connections over `milliseconds`; `request` makes the n-th request. */
export async function throughput(
  port: number,
  clients: number,
  milliseconds: number,
  request: (n: number) => Buffer | string,
  expected: number,
  identity: ClientPair = {},
): Promise<{ perSecond: number; bytes: number }> {
  const connections = await Promise.all(Array.from({ length: clients }, () => RawConnection.open(port, identity)));
  let count = 0;
  let bytes = 0;
  let n = 0;
  const began = performance.now();
  const deadline = began + milliseconds;
  await Promise.all(
    connections.map(async (connection) => {
      while (performance.now() < deadline) {
        const answer = await connection.send(request(n++));
        if (answer.status !== expected) throw new Error(`the server answered ${answer.status}`);
        count++;
        bytes += answer.bytes;
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  for (const connection of connections) connection.close();
  return { perSecond: count / seconds, bytes };
}

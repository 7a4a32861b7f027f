import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';

/** A complete response, with the statuses of the interim ones before it. */
export interface Http1Response {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  readonly interim: readonly number[];
}

const headEnd = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');

/**
 * FOR TESTS: one HTTP/1.1 connection whose bytes the test chooses. It repairs nothing: a response that is cut off, malformed or not
 * expected ends the connection with an error.
 */
export class Http1Client implements Disposable {
  readonly socket: TLSSocket;
  readonly #expected: { readonly method: string; readonly settle: PromiseWithResolvers<Http1Response> }[] = [];
  readonly #interim: PromiseWithResolvers<void>[] = [];
  #received: Buffer = Buffer.alloc(0);
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  /** Bytes without which the next response is not complete. */
  #needed = 0;
  #statuses: number[] = [];
  #failure: Error | undefined;
  #isEnded = false;

  private constructor(socket: TLSSocket, readsSlowly: boolean) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#chunkBytes += chunk.length;
      if (this.#received.length + this.#chunkBytes >= this.#needed) this.#parse(false);
      if (!readsSlowly) return;
      socket.pause();
      setTimeout(() => socket.resume(), 1);
    });
    socket.on('end', () => {
      this.#isEnded = true;
      this.#parse(true);
      this.#fail(new Error('the server closed the connection'));
    });
    socket.on('error', (error: Error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the connection is closed')));
  }

  static open(
    {
      port,
      ca,
      cert,
      key,
    }: { readonly port: number; readonly ca: string; readonly cert?: string; readonly key?: string },
    { readsSlowly = false }: { readonly readsSlowly?: boolean } = {},
  ): Promise<Http1Client> {
    return new Promise((resolve, reject) => {
      // The types of Node lack the high-water mark.
      const secure: ConnectionOptions & { readonly highWaterMark: number } = {
        host: '127.0.0.1',
        servername: 'localhost',
        checkServerIdentity: () => undefined,
        ALPNProtocols: ['http/1.1'],
        highWaterMark: readsSlowly ? 1024 : 64 * 1024,
        port,
        ca,
        ...(cert === undefined || key === undefined ? {} : { cert, key }),
      };
      const socket = connect(secure);
      socket.once('error', reject);
      socket.once('secureConnect', () => {
        socket.removeListener('error', reject);
        socket.setNoDelay(true);
        resolve(new Http1Client(socket, readsSlowly));
      });
    });
  }

  /** The response to the next request, which the test writes to {@link socket}. */
  next(method: string): Promise<Http1Response> {
    const settle = Promise.withResolvers<Http1Response>();
    settle.promise.catch(() => undefined);
    if (this.#failure === undefined) this.#expected.push({ method, settle });
    else settle.reject(this.#failure);
    return settle.promise;
  }

  /** Resolves with the next interim or final response. */
  async anyResponse(): Promise<void> {
    if (this.#failure !== undefined) return;
    const arrived = Promise.withResolvers<void>();
    this.#interim.push(arrived);
    await arrived.promise;
  }

  /** True once the server has ended its side in an orderly way. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { settle } of this.#expected.splice(0)) settle.reject(this.#failure);
    for (const { resolve } of this.#interim.splice(0)) resolve();
  }

  #parse(isEnd: boolean): void {
    this.#received = Buffer.concat([this.#received, ...this.#chunks.splice(0)]);
    this.#chunkBytes = 0;
    this.#needed = 0;
    for (;;) {
      const end = this.#received.indexOf(headEnd);
      if (end < 0) return;
      const [first = '', ...lines] = this.#received.subarray(0, end).toString('latin1').split('\r\n');
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]);
      const expected = this.#expected[0];
      if (!(status >= 100) || expected === undefined) {
        this.#fail(new Error(`unexpected bytes: ${first.slice(0, 80)}`));
        this.socket.destroy();
        return;
      }
      if (status < 200) {
        this.#received = this.#received.subarray(end + 4);
        this.#statuses.push(status);
        for (const { resolve } of this.#interim.splice(0)) resolve();
        continue;
      }
      const headers = new Map<string, string>();
      for (const line of lines) {
        const colon = line.indexOf(':');
        headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
      }
      const found = bodyOf(this.#received, end + 4, { method: expected.method, status, headers, isEnd });
      if (typeof found === 'number') {
        this.#needed = found;
        return;
      }
      this.#received = this.#received.subarray(found.end);
      this.#expected.shift();
      expected.settle.resolve({ status, headers, body: found.body, interim: this.#statuses });
      this.#statuses = [];
      for (const { resolve } of this.#interim.splice(0)) resolve();
    }
  }
}

interface Message {
  readonly method: string;
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Nothing follows. */
  readonly isEnd: boolean;
}

/** A number: as many bytes are needed at least. */
function bodyOf(
  bytes: Buffer,
  start: number,
  { method, status, headers, isEnd }: Message,
): { readonly body: Buffer; readonly end: number } | number {
  if (method === 'HEAD' || status === 204 || status === 304) return { body: Buffer.alloc(0), end: start };
  const length = headers.get('content-length');
  if (length !== undefined) {
    const end = start + Number(length);
    return bytes.length < end ? end : { body: bytes.subarray(start, end), end };
  }
  if (headers.get('transfer-encoding') !== 'chunked')
    return isEnd || headers.get('connection') !== 'close' ? { body: bytes.subarray(start), end: bytes.length } : 0;
  const chunks: Buffer[] = [];
  for (let at = start; ;) {
    const line = bytes.indexOf(lineEnd, at);
    if (line < 0) return 0;
    const size = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16);
    at = line + 2;
    if (size === 0) {
      const end = bytes[at] === 0x0d ? at : bytes.indexOf(headEnd, at);
      if (end < 0 || bytes.length < end + 2) return 0;
      return { body: Buffer.concat(chunks), end: bytes[at] === 0x0d ? at + 2 : end + 4 };
    }
    if (bytes.length < at + size + 2) return at + size + 2;
    chunks.push(bytes.subarray(at, at + size));
    at += size + 2;
  }
}

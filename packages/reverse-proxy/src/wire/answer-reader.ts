import { WireError } from './wire-error.ts';

/** What comes of an answer, in its order. */
export interface AnswerSink {
  /** Names in lower case and values in turn. Below 200 the answer itself is still to come. */
  onHead(status: number, headers: string[]): void;
  onData(chunk: Buffer): void;
  onEnd(trailers: string[]): void;
}

export interface AnswerReaderOptions {
  /** Bytes of a head, and of all trailers. */
  readonly maxHeaderBytes: number;
}

type State = 'head' | 'sized' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'done' | 'stopped';

const headEnd = Buffer.from('\r\n\r\n');
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;
const decimal = /^\d{1,15}$/;
const chunkSize = /^([0-9A-Fa-f]{1,12})[\t ]*(?:;.*)?$/;
const maxChunkLine = 1024;
const newline = 0x0a;
const noHeaders: string[] = [];
const noBytes = Buffer.alloc(0);

/**
 * Reads the answers of one HTTP/1.1 connection (RFC 9112), one after the other.
 *
 * Where two readers could disagree about where an answer ends, there is no answer: lines end in CRLF and nothing else, a
 * length is said once, in digits, and never along with chunks; nothing is folded; `chunked` is the only encoding. Bytes
 * behind an answer belong to no request: the connection cannot be used again.
 */
export class AnswerReader {
  readonly #options: AnswerReaderOptions;
  readonly #sink: AnswerSink;
  /** Names in the spelling they came in, and in ours: the same few come with every answer. */
  readonly #names = new Map<string, string>();
  #state: State = 'done';
  #isHead = false;
  /** The beginning of a head that is not complete, with room for more. */
  #begun: Buffer | undefined;
  #begunBytes = 0;
  /** The same of a line within the body. */
  #line = '';
  #trailerBytes = 0;
  #trailers: string[] = noHeaders;
  #left = 0;
  #keepsAlive = false;
  #idleHintMs = Number.POSITIVE_INFINITY;

  constructor(options: AnswerReaderOptions, modules: { readonly sink: AnswerSink }) {
    this.#options = options;
    this.#sink = modules.sink;
  }

  /** The next answer is to a request of this method. */
  begin(method: string): void {
    this.#state = 'head';
    this.#isHead = method === 'HEAD';
    this.#begun = undefined;
    this.#begunBytes = 0;
  }

  /** Nothing more is wanted; may be called by the sink. */
  stop(): void {
    this.#state = 'stopped';
  }

  /** Whether another request may follow on the connection, as the last answer had it. */
  get keepsAlive(): boolean {
    return this.#keepsAlive;
  }

  /** How long the server keeps the connection for it. */
  get idleHintMs(): number {
    return this.#idleHintMs;
  }

  /** Takes in what came. Throws a WireError for what is no answer. */
  push(data: Buffer): void {
    let at = 0;
    while (at < data.length) {
      switch (this.#state) {
        case 'head':
          at = this.#readHead(data, at);
          break;
        case 'sized':
        case 'chunk':
          at = this.#readBody(data, at);
          break;
        case 'until-close':
          this.#sink.onData(at === 0 ? data : data.subarray(at));
          return;
        case 'chunk-size':
        case 'chunk-end':
        case 'trailers':
          at = this.#readLine(data, at);
          break;
        case 'done':
          this.#keepsAlive = false;
          throw new WireError('answer', 'bytes that belong to no answer');
        case 'stopped':
          return;
      }
    }
  }

  /** The server has ended the connection: true when that is the end of the answer. */
  finish(): boolean {
    if (this.#state !== 'until-close') return false;
    this.#end();
    return true;
  }

  #readHead(data: Buffer, at: number): number {
    const before = this.#begun === undefined ? 0 : this.#begunBytes;
    const all = this.#begun === undefined ? data : this.#append(this.#begun, data, at);
    const start = this.#begun === undefined ? at : 0;
    const end = all.indexOf(headEnd, Math.max(start, before - headEnd.length));
    const length = (end < 0 ? all.length : end) - start;
    if (length > this.#options.maxHeaderBytes) throw new WireError('answer', 'a head that is too long');
    if (end < 0) {
      if (this.#begun === undefined) this.#append(noBytes, data, at);
      return data.length;
    }
    this.#begun = undefined;
    this.#begunBytes = 0;
    this.#takeHead(all.toString('latin1', start, end));
    return at + (end + headEnd.length - start) - before;
  }

  /** What there is of a head now. However small the pieces, each byte is moved a few times at most. */
  #append(begun: Buffer, data: Buffer, at: number): Buffer {
    const length = this.#begunBytes + data.length - at;
    let bytes = begun;
    if (length > begun.length) {
      bytes = Buffer.allocUnsafe(length * 2);
      begun.copy(bytes, 0, 0, this.#begunBytes);
    }
    data.copy(bytes, this.#begunBytes, at);
    this.#begun = bytes;
    this.#begunBytes = length;
    return bytes.subarray(0, length);
  }

  #takeHead(text: string): void {
    if (control.test(text)) throw new WireError('answer', 'a head with control characters');
    const firstEnd = lineEnd(text, 0);
    const line = statusLine.exec(text.slice(0, firstEnd));
    if (line === null) throw new WireError('answer', 'an answer that is not HTTP/1.1');
    const status = Number(line[2]);
    const headers: string[] = [];
    let length: number | undefined;
    let isChunked = false;
    let connection = '';
    this.#idleHintMs = Number.POSITIVE_INFINITY;
    for (let at = firstEnd + 2; at < text.length;) {
      const end = lineEnd(text, at);
      const name = this.#field(text, at, end, headers);
      at = end + 2;
      const value = headers[headers.length - 1] as string;
      switch (name) {
        case 'content-length':
          if (length !== undefined || !decimal.test(value)) throw new WireError('answer', 'a length that is none');
          length = Number(value);
          break;
        case 'transfer-encoding':
          if (isChunked || value.toLowerCase() !== 'chunked') throw new WireError('answer', 'an unknown encoding');
          isChunked = true;
          break;
        case 'connection':
          connection += `,${value.toLowerCase()}`;
          break;
        case 'keep-alive':
          this.#idleHintMs = hintOf(value);
          break;
      }
    }
    if (isChunked && (length !== undefined || line[1] === '0')) {
      throw new WireError('answer', 'chunks where there are none');
    }
    if (status < 200) {
      // What was not asked for: no other protocol begins here.
      if (status === 101) throw new WireError('answer', 'another protocol that nobody asked for');
      this.#sink.onHead(status, headers);
      return;
    }
    const options = connection === '' ? noHeaders : connection.split(',').map((option) => option.trim());
    const isBodyless = this.#isHead || status === 204 || status === 304;
    this.#keepsAlive =
      !options.includes('close') &&
      (line[1] === '1' || options.includes('keep-alive')) &&
      // Servers are known to send a body all the same, which would be the answer to somebody else's request.
      !this.#isHead &&
      !(isBodyless && (isChunked || (length ?? 0) > 0));
    this.#left = length ?? 0;
    if (isBodyless || length === 0) this.#state = 'sized';
    else if (isChunked) this.#state = 'chunk-size';
    else this.#state = length === undefined ? 'until-close' : 'sized';
    if (this.#state === 'until-close') this.#keepsAlive = false;
    this.#line = '';
    this.#trailerBytes = 0;
    this.#trailers = noHeaders;
    this.#sink.onHead(status, headers);
    if (isBodyless || length === 0) this.#end();
  }

  /** Puts one field into a list, and says its name. */
  #field(text: string, start: number, end: number, into: string[]): string {
    const colon = text.indexOf(':', start);
    if (colon < 0 || colon >= end) throw new WireError('answer', 'a line that is no header');
    const given = text.slice(start, colon);
    let name = this.#names.get(given);
    if (name === undefined) {
      if (!token.test(given)) throw new WireError('answer', 'a name that is none');
      name = given.toLowerCase();
      if (this.#names.size < 64) this.#names.set(given, name);
    }
    let [first, last] = [colon + 1, end];
    while (first < last && isBlank(text.charCodeAt(first))) first++;
    while (first < last && isBlank(text.charCodeAt(last - 1))) last--;
    into.push(name, text.slice(first, last));
    return name;
  }

  #readBody(data: Buffer, at: number): number {
    const end = Math.min(data.length, at + this.#left);
    const isLast = end - at === this.#left;
    this.#left -= end - at;
    this.#sink.onData(data.subarray(at, end));
    if (!isLast || this.#state === 'stopped') return end;
    if (this.#state === 'chunk') this.#state = 'chunk-end';
    else this.#end();
    return end;
  }

  #readLine(data: Buffer, at: number): number {
    const found = data.indexOf(newline, at);
    const end = found < 0 ? data.length : found;
    const line = this.#line + data.toString('latin1', at, end);
    const isTrailer = this.#state === 'trailers';
    const most = isTrailer ? this.#options.maxHeaderBytes - this.#trailerBytes : maxChunkLine;
    if (line.length > most) throw new WireError('answer', 'a line that is too long');
    if (found < 0) {
      this.#line = line;
      return end;
    }
    this.#line = '';
    const length = line.length - 1;
    if (line.indexOf('\r') !== length || control.test(line)) throw new WireError('answer', 'a line that is none');
    this.#takeLine(line.slice(0, length));
    return end + 1;
  }

  #takeLine(line: string): void {
    switch (this.#state) {
      case 'chunk-size': {
        const size = chunkSize.exec(line)?.[1];
        if (size === undefined) throw new WireError('answer', 'a chunk without a size');
        this.#left = Number.parseInt(size, 16);
        this.#state = this.#left === 0 ? 'trailers' : 'chunk';
        break;
      }
      case 'chunk-end':
        if (line !== '') throw new WireError('answer', 'a chunk that is longer than it says');
        this.#state = 'chunk-size';
        break;
      default:
        if (line === '') {
          this.#end();
          return;
        }
        this.#trailerBytes += line.length;
        if (this.#trailers === noHeaders) this.#trailers = [];
        this.#field(line, 0, line.length, this.#trailers);
    }
  }

  #end(): void {
    if (this.#state === 'stopped') return;
    this.#state = 'done';
    this.#sink.onEnd(this.#trailers);
  }
}

/** Where the line that begins here ends: at a CRLF, or at the end of the text; a line break of another kind is none. */
function lineEnd(text: string, start: number): number {
  const end = text.indexOf('\r', start);
  const broken = text.indexOf('\n', start);
  if (end < 0 && broken < 0) return text.length;
  if (broken !== end + 1 || end < 0) throw new WireError('answer', 'a line that does not end');
  return end;
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

function hintOf(keepAlive: string): number {
  const seconds = /(?:^|,)[\t ]*timeout=(\d{1,9})/i.exec(keepAlive)?.[1];
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000;
}

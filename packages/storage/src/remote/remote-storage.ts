import type { Clock } from '@multiplane/component-base';
import { OutcomeUnknownError, StorageUnavailableError, type StorageError } from '../errors.ts';
import { errorCode } from '../error-code.ts';
import type {
  ListOptions,
  ListResult,
  Storage,
  StorageEvent,
  StoredValue,
  WatchBatch,
  WatchOptions,
} from '../interface.ts';
import { errorOf, StorageFrameDecoder, type DecodedFrame, type WrittenStorageError } from './storage-frames.ts';

/** Below it a server offers its store; the paths are those of {@link RemoteStorage}. */
export const remoteStoragePath = '/storage/';
/** A server that has nothing to say says so this often, so that its peer notices when it is gone. */
export const progressIntervalMs = 15_000;
const idleMs = 3 * progressIntervalMs;

/** The part of an HTTP client that is used. */
export interface RemoteStorageTransport {
  open(request: {
    readonly method: string;
    readonly path: string;
    readonly contentType?: string | undefined;
    readonly body?: Buffer | undefined;
    readonly signal?: AbortSignal | undefined;
    readonly longRunning?: boolean | undefined;
  }): Promise<RemoteResponse>;
}

interface RemoteResponse extends AsyncIterable<Buffer> {
  readonly statusCode?: number | undefined;
}

export interface RemoteStorageModules {
  readonly transport: RemoteStorageTransport;
  readonly clock: Clock;
}

type Parameters = Readonly<Record<string, string | number | undefined>>;

/**
 * The store of another process over HTTPS: compare-and-set writes, lists and watches of the storage contract. The one who
 * opened the transport closes it.
 *
 * A write whose response is missing may have been carried out: it fails with OutcomeUnknown, unless no connection was made.
 */
export class RemoteStorage implements Pick<
  Storage,
  'create' | 'update' | 'delete' | 'list' | 'watch' | 'check' | 'close'
> {
  readonly #prefix: string;
  readonly #modules: RemoteStorageModules;

  /** `pathPrefix`: of the server, before {@link remoteStoragePath}. */
  constructor(options: { readonly pathPrefix: string }, modules: RemoteStorageModules) {
    this.#prefix = `${options.pathPrefix}${remoteStoragePath}`;
    this.#modules = modules;
  }

  create(key: string, value: Buffer): Promise<number> {
    return this.#write('create', { key }, value);
  }

  update(key: string, value: Buffer, expected: number): Promise<number> {
    return this.#write('update', { key, expected }, value);
  }

  delete(key: string, expected: number): Promise<number> {
    return this.#write('delete', { key, expected });
  }

  async list(prefix: string, { limit, from, revision, skipRemainingCount }: ListOptions = {}): Promise<ListResult> {
    const parameters = {
      prefix,
      limit,
      from,
      revision,
      skipRemainingCount: skipRemainingCount === true ? 1 : undefined,
    };
    const items: StoredValue[] = [];
    let state: { readonly revision: number; readonly remaining: number } | undefined;
    for await (const { frame, value } of this.#frames('list', parameters)) {
      if (frame.list !== undefined) state = frame.list;
      else if (frame.end === true && state !== undefined) return { items, ...state };
      else items.push({ key: frame.key ?? '', revision: frame.revision ?? 0, value: value ?? Buffer.alloc(0) });
    }
    throw new StorageUnavailableError('the list of the store ended early');
  }

  async *watch(
    prefix: string,
    { after, signal, restoresKeys }: WatchOptions,
  ): AsyncGenerator<WatchBatch, void, undefined> {
    let events: StorageEvent[] = [];
    const parameters = { prefix, after, restoresKeys: restoresKeys === true ? 1 : undefined };
    for await (const { frame, value } of this.#frames('watch', parameters, signal)) {
      const { batch, type, key = '', revision = 0, created = false } = frame;
      if (type !== undefined) events.push({ type, key, revision, created, value });
      if (batch === undefined) continue;
      yield { events, revision: batch };
      events = [];
    }
    if (!signal.aborted) throw new StorageUnavailableError('the watch of the store ended');
  }

  async check(): Promise<void> {
    await bodyOf(await this.#open('GET', 'check', {}));
  }

  async close(): Promise<void> {}

  async #write(
    verb: 'create' | 'update' | 'delete',
    parameters: Parameters & { key: string },
    value?: Buffer,
  ): Promise<number> {
    try {
      const response = await this.#open('POST', verb, parameters, { body: value });
      return (JSON.parse(await bodyOf(response)) as { revision: number }).revision;
    } catch (error) {
      if (error instanceof ConnectionError && error.isAfterSend)
        throw new OutcomeUnknownError(parameters.key, error.cause);
      throw unavailable(error);
    }
  }

  /** Ends when the signal aborts; throws the error that the server wrote, and Unavailable when the connection ends or is silent. */
  async *#frames(
    path: string,
    parameters: Parameters,
    signal?: AbortSignal,
  ): AsyncGenerator<DecodedFrame, void, undefined> {
    const { clock } = this.#modules;
    const idle = new AbortController();
    const silence = (): ReturnType<Clock['after']> =>
      clock.after(idleMs, () => idle.abort(new Error(`no data for ${idleMs} ms`)));
    let timer = silence();
    const decoder = new StorageFrameDecoder();
    try {
      const aborted = signal === undefined ? idle.signal : AbortSignal.any([signal, idle.signal]);
      const response = await this.#open('GET', path, parameters, { signal: aborted, longRunning: true });
      for await (const chunk of response) {
        timer.cancel();
        timer = silence();
        for (const decoded of decoder.push(chunk)) {
          if (decoded.frame.error !== undefined) throw errorOf(decoded.frame.error);
          yield decoded;
        }
      }
    } catch (error) {
      if (signal?.aborted !== true) throw unavailable(error);
    } finally {
      timer.cancel();
      // Closes a connection that is still open, as after the consumer left.
      idle.abort();
    }
  }

  async #open(
    method: string,
    path: string,
    parameters: Parameters,
    request: { readonly body?: Buffer | undefined; readonly signal?: AbortSignal; readonly longRunning?: true } = {},
  ): Promise<RemoteResponse> {
    const query = Object.entries(parameters)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${encodeURIComponent(value as string | number)}`)
      .join('&');
    let response: RemoteResponse;
    try {
      response = await this.#modules.transport.open({
        method,
        path: `${this.#prefix}${path}?${query}`,
        contentType: 'application/octet-stream',
        ...request,
      });
    } catch (cause) {
      throw new ConnectionError(cause);
    }
    if (response.statusCode === 200) return response;
    throw refusal(response.statusCode ?? 0, await bodyOf(response));
  }
}

/** No response, or an incomplete one. */
class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** False: the server cannot have received the request. */
  readonly isAfterSend: boolean;
  constructor(cause: unknown) {
    super('the store did not respond', { cause });
    this.isAfterSend = errorCode(cause) !== 'ECONNREFUSED' && errorCode(cause) !== 'ENOTFOUND';
  }
}

/** The whole body. Throws ConnectionError when it is cut. */
async function bodyOf(response: RemoteResponse): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk);
  } catch (cause) {
    throw new ConnectionError(cause);
  }
  return Buffer.concat(chunks).toString();
}

/** The error that the store reported, else one with the text of the server, as for missing permissions. */
function refusal(status: number, body: string): StorageError {
  try {
    const { storageError } = JSON.parse(body) as { readonly storageError?: WrittenStorageError };
    if (storageError !== undefined) return errorOf(storageError);
  } catch {
    // Not of the store.
  }
  return new StorageUnavailableError(`the server of the store responded with status ${status}: ${body.slice(0, 512)}`);
}

function unavailable(error: unknown): unknown {
  const isReported = error instanceof Error && error.name === 'StorageError';
  return isReported
    ? error
    : new StorageUnavailableError('the store did not respond', error instanceof ConnectionError ? error.cause : error);
}

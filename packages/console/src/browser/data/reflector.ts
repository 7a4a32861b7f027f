import { ApiError } from './api-error.ts';
import type { ApiRequest } from './api-client.ts';
import type { BrowserClock } from './browser-clock.ts';
import type { Codec, ListBody } from './codec.ts';
import type { Column } from './kube-object.ts';
import { readLines } from './read-lines.ts';

export interface ReflectorSink<T> {
  /** The complete state: items that are missing do not exist. */
  replace(items: ReadonlyMap<string, T>, columns: readonly Column[]): void;
  upsert(key: string, item: T): void;
  remove(key: string): void;
  /** A watch is established, or the failure after which it is tried again. */
  connection(failure: Error | undefined): void;
}

export interface ReflectorOptions<T> {
  /** Collection below `/console/`, without a query. */
  readonly path: string;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly codec: Codec<T>;
  readonly pageSize?: number;
}

export interface ReflectorModules<T> {
  readonly send: (path: string, request: ApiRequest) => Promise<Response>;
  readonly clock: BrowserClock;
  readonly random: () => number;
  readonly sink: ReflectorSink<T>;
}

interface WatchEvent {
  readonly type: string;
  readonly object: ListBody & { readonly code?: number; readonly reason?: string; readonly message?: string };
}

// The figures of client-go's reflector; its watches also end at a random time between 5 and 10 minutes.
const minPauseMs = 800;
const maxPauseMs = 30_000;
const minWatchSeconds = 300;

/**
 * Lists a collection once, page by page, then watches it from the list's resourceVersion, by the rules of client-go:
 *
 * ```
 *   watch ends            → watch from the last resourceVersion, which bookmarks advance
 *   410, as response or event → list again
 *   another failure       → pause with jitter, which doubles up to 30 s and starts anew after a success
 *   401                   → ends: the session is over
 * ```
 */
export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #modules: ReflectorModules<T>;
  #version: string | undefined;
  #failures = 0;
  /** A continue token expired: the next list is not paged, so that it cannot expire again. */
  #isUnpaged = false;

  constructor(options: ReflectorOptions<T>, modules: ReflectorModules<T>) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Resolves when the signal aborts or the session is over. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let startedAnew = false;
      try {
        if (this.#version === undefined) await this.#list(signal);
        await this.#watch(signal);
      } catch (error) {
        if (signal.aborted) return;
        const failure = error instanceof Error ? error : new Error(String(error));
        const code = failure instanceof ApiError ? failure.code : undefined;
        if (code === 410) {
          startedAnew = this.#version !== undefined;
          this.#isUnpaged = this.#version === undefined;
          this.#version = undefined;
        } else this.#modules.sink.connection(failure);
        if (code === 401) return;
      }
      // An expired version is no outage: the server answered, and the list must not wait.
      if (!startedAnew) await this.#pause(signal);
    }
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const base = Math.min(minPauseMs * 2 ** this.#failures, maxPauseMs);
    this.#failures++;
    await this.#modules.clock.sleep(base * (1 + this.#modules.random()), signal);
  }

  #query(parameters: Readonly<Record<string, string | undefined>>): string {
    const { labelSelector, fieldSelector } = this.#options;
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries({ labelSelector, fieldSelector, ...parameters }))
      if (value !== undefined && value !== '') query.set(name, value);
    return `${this.#options.path}?${query}`;
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { codec, pageSize = 500 } = this.#options;
    const items = new Map<string, T>();
    let columns: readonly Column[] = [];
    let continueToken: string | undefined;
    let body: ListBody;
    do {
      const limit = this.#isUnpaged ? undefined : String(pageSize);
      const path = this.#query({ limit, continue: continueToken });
      const response = await this.#modules.send(path, { accept: codec.accept, signal });
      body = (await response.json()) as ListBody;
      if (continueToken === undefined) columns = codec.columnsOf(body);
      for (const item of codec.itemsOf(body)) items.set(codec.keyOf(item), item);
      continueToken = body.metadata?.continue;
    } while (continueToken !== undefined && continueToken !== '');
    this.#isUnpaged = false;
    this.#version = body.metadata?.resourceVersion;
    if (this.#version === undefined) throw new Error('the list has no resourceVersion');
    this.#modules.sink.replace(items, columns);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { codec } = this.#options;
    const timeoutSeconds = Math.floor(minWatchSeconds * (1 + this.#modules.random()));
    const path = this.#query({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: this.#version,
      timeoutSeconds: String(timeoutSeconds),
    });
    const response = await this.#modules.send(path, { accept: codec.accept, signal });
    if (response.body === null) throw new Error('the watch has no body');
    this.#modules.sink.connection(undefined);
    for await (const line of readLines(response.body)) {
      if (signal.aborted) return;
      this.#apply(JSON.parse(line) as WatchEvent);
      this.#failures = 0;
    }
  }

  #apply({ type, object }: WatchEvent): void {
    const { codec } = this.#options;
    if (type === 'ERROR')
      throw new ApiError(object.code ?? 500, object.reason ?? 'Unknown', object.message ?? 'the watch failed');
    const item = codec.eventItemOf(object);
    const version = object.metadata?.resourceVersion ?? (item === undefined ? undefined : codec.versionOf(item));
    if (item !== undefined && type === 'DELETED') this.#modules.sink.remove(codec.keyOf(item));
    else if (item !== undefined && (type === 'ADDED' || type === 'MODIFIED'))
      this.#modules.sink.upsert(codec.keyOf(item), item);
    if (version !== undefined && version !== '') this.#version = version;
  }
}

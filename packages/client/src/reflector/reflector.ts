import {
  clusterAnnotation,
  isJsonObject,
  isStatusError,
  shardNameAnnotation,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
  type StatusError,
} from '@multiplane/apimachinery';
import { Backoff, type Clock } from '@multiplane/component-base';
import type { ObjectReference } from '../lister.ts';
import { resourcePath } from '../rest-client.ts';
import { statusErrorOfResponse, type RestTransport } from '../rest-transport.ts';
import { IdleTimeout } from './idle-timeout.ts';
import { LineSplitter, LineTooLongError } from './line-splitter.ts';
import { BadFrameError, endsInitialEvents, parseWatchEvent, type WatchEvent } from './watch-event.ts';

/** An object of a server; `shard` is empty unless the server has objects of several shards. */
export interface ReflectedReference extends ObjectReference {
  readonly shard: string;
}

/**
 * Receives the objects of a {@link Reflector}, as the Store of client-go's Reflector. The reflector itself keeps no objects.
 * Must not throw: an exception ends the reflector.
 */
export interface ReflectorSink {
  /** A new list starts: all existing objects are upserted until {@link endReplace}. May be called again before that. */
  beginReplace(): void;
  /** The object exists: added, modified or unchanged. */
  upsert(object: KubeObject, reference: ReflectedReference): void;
  /** The object, in its last state, was deleted. */
  remove(object: KubeObject, reference: ReflectedReference): void;
  /** The list is complete: objects that were not upserted since {@link beginReplace} do not exist. */
  endReplace(): void;
}

export interface ReflectorOptions {
  readonly resource: GroupVersionResource;
  /** Path before `/clusters/`: `/services/cache/shards/*`; empty for a shard. */
  readonly pathPrefix?: string | undefined;
  /** One logical cluster; all of them by default. */
  readonly cluster?: LogicalClusterName | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Start with a streaming list (KEP-3157) instead of a paged one; falls back when the server rejects it. True by default. */
  readonly watchList?: boolean | undefined;
  /** Objects per page of a list. */
  readonly pageSize?: number | undefined;
  /** A stream without data for so long is closed; servers send bookmarks every minute. */
  readonly idleMs?: number | undefined;
  /** Shortest and longest pause between two attempts. */
  readonly minPauseMs?: number | undefined;
  readonly maxPauseMs?: number | undefined;
}

export interface ReflectorModules {
  readonly transport: RestTransport;
  readonly clock: Clock;
  readonly sink: ReflectorSink;
  /** Called for every failure, which is retried after the pause. `failures` counts consecutive ones. */
  readonly onFailure: (error: Error, retry: { readonly pauseMs: number; readonly failures: number }) => void;
  readonly random?: (() => number) | undefined;
}

/** The server ends watches after 5 to 10 minutes, so that clients spread over its replicas again. */
const watchSeconds = 300;
const maxFrameBytes = 16 * 1024 * 1024;

/** Wraps what the sink threw, which is a bug in this process and not retried. */
class SinkError extends Error {}

/**
 * Lists and watches one resource of a server, in one or all logical clusters.
 *
 * ```
 *   list     streaming list, or page by page         → beginReplace, upsert …, endReplace; resourceVersion of the list
 *   watch    from the resourceVersion, with bookmarks → upsert, remove; the resourceVersion advances with every event
 *   stream ends or fails          → pause (grows with consecutive failures) → watch from the last resourceVersion
 *   410, invalid frame or object  → pause → list
 * ```
 *
 * Events are neither missed nor repeated while the server retains the resourceVersion; after that the list replaces the
 * state. Memory: one line of the stream, or one page. Failures are reported and retried indefinitely; only an exception of the
 * sink ends {@link run}.
 */
export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #modules: ReflectorModules;
  readonly #backoff: Backoff;
  readonly #synced = Promise.withResolvers<void>();
  /** Resolves once the first list is complete. */
  readonly synced: Promise<void> = this.#synced.promise;
  /** The last resourceVersion of the sink's state; undefined before a list is complete. */
  #version: string | undefined;
  #watchList: boolean;
  /** The next list is not paged, because the continue token of the last one expired. */
  #unpaged = false;
  #failure: Error | undefined = new Error('not connected yet');

  constructor(options: ReflectorOptions, modules: ReflectorModules) {
    this.#options = options;
    this.#modules = modules;
    this.#watchList = options.watchList ?? true;
    this.#backoff = new Backoff(
      { initial: options.minPauseMs ?? 100, max: options.maxPauseMs ?? 10_000 },
      { random: modules.random },
    );
  }

  /** The current failure; undefined while a watch is established. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Runs until the signal aborts. Rejects only with what the sink threw. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let failure: Error | undefined;
      try {
        if (this.#version === undefined && !this.#watchList) await this.#list(signal);
        await this.#watch(signal);
      } catch (error) {
        if (error instanceof SinkError) throw error.cause;
        failure = error instanceof Error ? error : new Error('the stream failed', { cause: error });
      }
      if (signal.aborted) return;
      if (failure !== undefined) this.#handleFailure(failure);
      const pauseMs = this.#backoff.next();
      if (failure !== undefined) this.#modules.onFailure(failure, { pauseMs, failures: this.#backoff.tries });
      try {
        await this.#modules.clock.sleep(pauseMs, signal);
      } catch {
        return; // Only an abort rejects a sleep.
      }
    }
  }

  /** Decides whether to list again, and whether without a streaming list. */
  #handleFailure(failure: Error): void {
    this.#failure = failure;
    const isInvalid = failure instanceof BadFrameError || failure instanceof LineTooLongError;
    const isExpired = isStatusError(failure) && failure.code === 410;
    // The server responds again: the backoff of an outage ends. Lists that fail repeatedly keep their growing pause.
    if (isExpired && this.#version !== undefined) this.#backoff.reset();
    if (isInvalid || isExpired) this.#version = undefined;
    if (
      this.#version === undefined &&
      this.#watchList &&
      isStatusError(failure) &&
      (failure.code === 400 || failure.code === 422)
    )
      this.#watchList = false;
  }

  async #list(signal: AbortSignal): Promise<void> {
    this.#deliver(() => this.#modules.sink.beginReplace());
    let token = '';
    do {
      const timeout = this.#idleTimeout(signal);
      let page: JsonObject;
      try {
        page = await this.#page(token, timeout.signal);
      } catch (error) {
        if (token !== '' && isStatusError(error) && error.code === 410) this.#unpaged = true;
        throw error;
      } finally {
        timeout.release();
      }
      token = this.#deliverPage(page);
    } while (token !== '');
    this.#unpaged = false;
    this.#completeList();
  }

  async #page(token: string, signal: AbortSignal): Promise<JsonObject> {
    const query = this.#query();
    if (!this.#unpaged) query.set('limit', String(this.#options.pageSize ?? 500));
    if (token !== '') query.set('continue', token);
    const answer = await this.#modules.transport.json({ method: 'GET', path: this.#path(query), signal });
    if (!isJsonObject(answer)) throw new BadFrameError('not a list');
    return answer;
  }

  /** Upserts the objects of a page; returns the continue token, empty after the last page. */
  #deliverPage(page: JsonObject): string {
    const { metadata, items, apiVersion, kind } = page;
    if (!isJsonObject(metadata) || typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items ?? []))
      throw new BadFrameError('not a list');
    const version = metadata['resourceVersion'];
    if (typeof version !== 'string' || version === '') throw new BadFrameError('a list without a resourceVersion');
    const itemKind = kind.slice(0, -'List'.length);
    for (const item of (items ?? []) as unknown as KubeObject[]) {
      // Items of typed lists omit kind and apiVersion.
      const object = item.kind === undefined ? { ...item, kind: itemKind, apiVersion: apiVersion as string } : item;
      const reference = this.#referenceOf(object);
      this.#deliver(() => this.#modules.sink.upsert(object, reference));
    }
    const token = metadata['continue'];
    if (typeof token === 'string' && token !== '') return token;
    this.#version = version;
    return '';
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const isInitial = this.#version === undefined;
    const query = this.#query();
    query.set('watch', 'true');
    query.set('allowWatchBookmarks', 'true');
    query.set('timeoutSeconds', String(Math.round(watchSeconds * (1 + (this.#modules.random ?? Math.random)()))));
    if (this.#version !== undefined) {
      query.set('resourceVersion', this.#version);
    } else {
      query.set('sendInitialEvents', 'true');
      query.set('resourceVersionMatch', 'NotOlderThan');
    }
    const timeout = this.#idleTimeout(signal);
    try {
      const path = this.#path(query);
      const response = await this.#modules.transport.open({
        method: 'GET',
        path,
        signal: timeout.signal,
        longRunning: true,
      });
      timeout.touch();
      if (response.statusCode !== 200) throw await readFailure(response.statusCode ?? 0, response);
      if (isInitial) this.#deliver(() => this.#modules.sink.beginReplace());
      else this.#failure = undefined;
      const lines = new LineSplitter({ maxBytes: maxFrameBytes });
      for await (const chunk of response as AsyncIterable<Buffer>) {
        timeout.touch();
        for (const line of lines.push(chunk)) this.#handleEvent(parseWatchEvent(line));
      }
      if (this.#version === undefined) throw new Error('the stream ended before the initial events were complete');
    } catch (error) {
      // The reason of the abort is more specific than the stream's error.
      throw timeout.signal.aborted && !(error instanceof SinkError) ? timeout.signal.reason : error;
    } finally {
      timeout.release();
    }
  }

  #handleEvent(event: WatchEvent): void {
    const { sink } = this.#modules;
    const { type, object, resourceVersion } = event;
    if (type === 'BOOKMARK') {
      if (this.#version === undefined) {
        if (!endsInitialEvents(event)) return;
        this.#version = resourceVersion;
        this.#completeList();
      }
      this.#version = resourceVersion;
    } else {
      const reference = this.#referenceOf(object);
      this.#deliver(() => (type === 'DELETED' ? sink.remove(object, reference) : sink.upsert(object, reference)));
      // Initial events are in the order of keys, so their versions say nothing about the progress.
      if (this.#version !== undefined) this.#version = resourceVersion;
    }
    if (this.#version !== undefined) this.#backoff.reset();
  }

  #completeList(): void {
    this.#deliver(() => this.#modules.sink.endReplace());
    this.#failure = undefined;
    this.#backoff.reset();
    this.#synced.resolve();
  }

  #deliver(call: () => void): void {
    try {
      call();
    } catch (cause) {
      throw new SinkError('the sink of a reflector failed', { cause });
    }
  }

  /** Reads the logical cluster from the annotation that servers set in wildcard responses. */
  #referenceOf({ metadata }: KubeObject): ReflectedReference {
    const cluster = metadata?.annotations?.[clusterAnnotation] ?? this.#options.cluster;
    if (cluster === undefined || cluster === '' || metadata?.name === undefined || metadata.name === '')
      throw new BadFrameError(`an object without a name or logical cluster: ${JSON.stringify(metadata?.name)}`);
    return {
      cluster: cluster as LogicalClusterName,
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      shard: metadata.annotations?.[shardNameAnnotation] ?? '',
    };
  }

  #idleTimeout(signal: AbortSignal): IdleTimeout {
    return new IdleTimeout({ idleMs: this.#options.idleMs ?? 90_000 }, { clock: this.#modules.clock, signal });
  }

  #query(): URLSearchParams {
    const { labelSelector, fieldSelector } = this.#options;
    const query = new URLSearchParams();
    if (labelSelector !== undefined) query.set('labelSelector', labelSelector);
    if (fieldSelector !== undefined) query.set('fieldSelector', fieldSelector);
    return query;
  }

  #path(query: URLSearchParams): string {
    const { pathPrefix = '', resource, cluster } = this.#options;
    return `${pathPrefix}${resourcePath(resource, { cluster: cluster ?? '*' })}?${query.toString()}`;
  }
}

/** The error of a rejected watch; reads a bounded part of the response. */
async function readFailure(code: number, response: AsyncIterable<Buffer>): Promise<StatusError> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > 1024 * 1024) break;
    chunks.push(chunk);
  }
  return statusErrorOfResponse(code, Buffer.concat(chunks).toString());
}

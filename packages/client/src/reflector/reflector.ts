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
import { failureOf, type RestTransport } from '../rest-transport.ts';
import { IdleGuard } from './idle-guard.ts';
import { LineSplitter, LineTooLongError } from './line-splitter.ts';
import { BadFrameError, endsInitialEvents, parseWatchEvent, type WatchEvent } from './watch-event.ts';

/** Where an object lives; `shard` is empty unless the server holds objects of several shards. */
export interface ReflectedReference extends ObjectReference {
  readonly shard: string;
}

/**
 * What a {@link Reflector} tells. It keeps no object itself: whoever needs a copy makes one, of as much as it needs.
 * Must not throw: that ends the reflector for good.
 */
export interface ReflectorSink {
  /** A complete state begins: everything there is will be `put` until {@link replaced}. May come again before that. */
  replacing(): void;
  /** The object is there, new or changed or as it was. */
  put(object: KubeObject, reference: ReflectedReference): void;
  /** The object, as it last was, is gone. */
  removed(object: KubeObject, reference: ReflectedReference): void;
  /** The state is complete: whatever was not `put` since {@link replacing} is gone. */
  replaced(): void;
}

export interface ReflectorOptions {
  readonly resource: GroupVersionResource;
  /** Before `/clusters/`: `/services/cache/shards/*`; empty for a shard. */
  readonly pathPrefix?: string | undefined;
  /** One logical cluster; all of them unless told otherwise. */
  readonly cluster?: LogicalClusterName | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Begin with a watch that sends the state first (KEP-3157), object by object; a server that refuses gets a paged list. */
  readonly watchList?: boolean | undefined;
  /** Objects per page of a list. */
  readonly pageSize?: number | undefined;
  /** A stream on which nothing came for so long is given up; servers send bookmarks every minute. */
  readonly idleMs?: number | undefined;
  /** First and longest pause between two tries. */
  readonly minPauseMs?: number | undefined;
  readonly maxPauseMs?: number | undefined;
}

export interface ReflectorModules {
  readonly transport: RestTransport;
  readonly clock: Clock;
  readonly sink: ReflectorSink;
  /** Every failure; it will be tried again after the pause. `failures` counts those in a row. */
  readonly onFailure: (error: Error, retry: { readonly pauseMs: number; readonly failures: number }) => void;
  readonly random?: (() => number) | undefined;
}

/** Watches are ended by the server after 5 to 10 minutes, so that clients spread anew over its replicas. */
const watchSeconds = 300;
const maxFrameBytes = 16 * 1024 * 1024;

/** What the sink threw: a fault of this program, never tried again. */
class SinkError extends Error {}

/**
 * Follows one resource of a server, over all of its logical clusters, for as long as it is wanted:
 *
 * ```
 *   begin    watch with initial events, or list page by page    → replacing, put …, replaced; the version of that state
 *   follow   watch from the version, with bookmarks             → put, removed; the version moves on with every event
 *   the stream ends, or fails     → pause (grows with failures in a row) → follow from the last version
 *   410, or what cannot be understood (a bad frame, an object without a place) → pause → begin
 * ```
 *
 * So nothing is missed and nothing doubled while the server remembers the version, and everything is compared anew when
 * it does not. Memory: one line of the stream, or one page. A failure is told and tried again for ever; only a sink that
 * throws ends {@link run}.
 */
export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #modules: ReflectorModules;
  readonly #backoff: Backoff;
  readonly #synced = Promise.withResolvers<void>();
  /** Resolves when the first state was told completely. */
  readonly synced: Promise<void> = this.#synced.promise;
  /** The last version that was told; undefined: begin. */
  #version: string | undefined;
  #watchList: boolean;
  /** The next list asks for everything at once: its pages took longer than the server remembers. */
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

  /** Why it does not follow now; undefined while it does. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Follows until the signal aborts. Rejects with what the sink threw, and with nothing else. */
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
      if (failure !== undefined) this.#consider(failure);
      const pauseMs = this.#backoff.next();
      if (failure !== undefined) this.#modules.onFailure(failure, { pauseMs, failures: this.#backoff.tries });
      try {
        await this.#modules.clock.sleep(pauseMs, signal);
      } catch {
        return; // A sleep fails by the signal only.
      }
    }
  }

  /** Decides from a failure where to go on. */
  #consider(failure: Error): void {
    this.#failure = failure;
    const bad = failure instanceof BadFrameError || failure instanceof LineTooLongError;
    const forgotten = isStatusError(failure) && failure.code === 410;
    // It has answered: what came before was an outage, which is over. A state that cannot be completed still waits longer.
    if (forgotten && this.#version !== undefined) this.#backoff.reset();
    if (bad || forgotten) this.#version = undefined;
    if (
      this.#version === undefined &&
      this.#watchList &&
      isStatusError(failure) &&
      (failure.code === 400 || failure.code === 422)
    )
      this.#watchList = false;
  }

  async #list(signal: AbortSignal): Promise<void> {
    this.#tell(() => this.#modules.sink.replacing());
    let token = '';
    do {
      const guard = this.#guard(signal);
      let page: JsonObject;
      try {
        page = await this.#page(token, guard.signal);
      } catch (error) {
        if (token !== '' && isStatusError(error) && error.code === 410) this.#unpaged = true;
        throw error;
      } finally {
        guard.release();
      }
      token = this.#tellPage(page);
    } while (token !== '');
    this.#unpaged = false;
    this.#complete();
  }

  async #page(token: string, signal: AbortSignal): Promise<JsonObject> {
    const query = this.#query();
    if (!this.#unpaged) query.set('limit', String(this.#options.pageSize ?? 500));
    if (token !== '') query.set('continue', token);
    const answer = await this.#modules.transport.json({ method: 'GET', path: this.#path(query), signal });
    if (!isJsonObject(answer)) throw new BadFrameError('not a list');
    return answer;
  }

  /** Tells the objects of a page; returns the token of the next one, empty after the last. */
  #tellPage(page: JsonObject): string {
    const { metadata, items, apiVersion, kind } = page;
    if (!isJsonObject(metadata) || typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items ?? []))
      throw new BadFrameError('not a list');
    const version = metadata['resourceVersion'];
    if (typeof version !== 'string' || version === '') throw new BadFrameError('a list without a resourceVersion');
    const itemKind = kind.slice(0, -'List'.length);
    for (const item of (items ?? []) as unknown as KubeObject[]) {
      // Items of typed lists do not say what they are (K3.1).
      const object = item.kind === undefined ? { ...item, kind: itemKind, apiVersion: apiVersion as string } : item;
      const reference = this.#place(object);
      this.#tell(() => this.#modules.sink.put(object, reference));
    }
    const token = metadata['continue'];
    if (typeof token === 'string' && token !== '') return token;
    this.#version = version;
    return '';
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const beginning = this.#version === undefined;
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
    const guard = this.#guard(signal);
    try {
      const path = this.#path(query);
      const response = await this.#modules.transport.open({
        method: 'GET',
        path,
        signal: guard.signal,
        longRunning: true,
      });
      guard.touch();
      if (response.statusCode !== 200) throw await refusalOf(response.statusCode ?? 0, response);
      if (beginning) this.#tell(() => this.#modules.sink.replacing());
      else this.#following();
      const lines = new LineSplitter({ maxBytes: maxFrameBytes });
      for await (const chunk of response as AsyncIterable<Buffer>) {
        guard.touch();
        for (const line of lines.push(chunk)) this.#event(parseWatchEvent(line));
      }
      if (this.#version === undefined) throw new Error('the stream ended before the state was complete');
    } catch (error) {
      // An aborted stream fails as "aborted": what aborted it says more.
      throw guard.signal.aborted && !(error instanceof SinkError) ? guard.signal.reason : error;
    } finally {
      guard.release();
    }
  }

  #event(event: WatchEvent): void {
    const { sink } = this.#modules;
    const { type, object, resourceVersion } = event;
    if (type === 'BOOKMARK') {
      if (this.#version === undefined) {
        if (!endsInitialEvents(event)) return;
        this.#version = resourceVersion;
        this.#complete();
      }
      this.#version = resourceVersion;
    } else {
      const reference = this.#place(object);
      this.#tell(() => (type === 'DELETED' ? sink.removed(object, reference) : sink.put(object, reference)));
      // Before the state is complete its objects come in the order of their keys: their versions mean nothing.
      if (this.#version !== undefined) this.#version = resourceVersion;
    }
    if (this.#version !== undefined) this.#backoff.reset();
  }

  /** The state was told completely. */
  #complete(): void {
    this.#tell(() => this.#modules.sink.replaced());
    this.#following();
    this.#backoff.reset();
    this.#synced.resolve();
  }

  #following(): void {
    this.#failure = undefined;
  }

  #tell(what: () => void): void {
    try {
      what();
    } catch (cause) {
      throw new SinkError('the sink of a reflector failed', { cause });
    }
  }

  /** Where an object lives. The annotation is what servers say of objects out of many logical clusters (C4.2). */
  #place({ metadata }: KubeObject): ReflectedReference {
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

  #guard(signal: AbortSignal): IdleGuard {
    return new IdleGuard({ idleMs: this.#options.idleMs ?? 90_000 }, { clock: this.#modules.clock, signal });
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

/** The error behind a watch that was refused; reads a bounded part of the answer. */
async function refusalOf(code: number, response: AsyncIterable<Buffer>): Promise<StatusError> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > 1024 * 1024) break;
    chunks.push(chunk);
  }
  return failureOf(code, Buffer.concat(chunks).toString());
}

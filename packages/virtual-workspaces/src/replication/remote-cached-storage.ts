import type { IncomingMessage } from 'node:http';
import {
  apiVersionOf,
  isJsonObject,
  isStatusError,
  shardNameAnnotation,
  clusterAnnotation,
  type GroupVersionResource,
  type Json,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { encodeForStorage } from '@multiplane/apiserver';
import type { Clock } from '@multiplane/component-base';
import {
  IdleTimeout,
  statusErrorOfResponse,
  LineSplitter,
  parseWatchEvent,
  type RestTransport,
  type WatchEvent,
} from '@multiplane/client';
import {
  cacheKey,
  CompactedError,
  StorageUnavailableError,
  type StorageEvent,
  type StreamingListStorage,
  type WatchBatch,
  type WatchOptions,
} from '@multiplane/storage';
import { ReadOnlyStorage } from './read-only-storage.ts';

export interface RemoteCachedStorageOptions {
  readonly resource: GroupVersionResource;
  readonly identity: string;
  /** Objects per page of the initial list. */
  readonly pageSize?: number | undefined;
}

export interface RemoteCachedStorageModules {
  readonly transport: RestTransport;
  readonly clock: Clock;
  readonly random: () => number;
}

const maxFrameBytes = 16 * 1024 * 1024;
const watchSeconds = 300;
/** A cache server that sends nothing for so long, not even a bookmark, is frozen or unreachable. */
const idleMs = 90_000;

/**
 * The objects of one CachedResource identity as a store to read, over LIST and WATCH of a cache server: what a watch cache
 * in this process follows. Revisions are those of the cache server, so every replica of this process answers with the same
 * ones. A request that gets no data for {@link idleMs} is made again. It never asks whether it is current: replication is asynchronous anyway, and while the cache server is away the
 * last state is served.
 */
export class RemoteCachedStorage extends ReadOnlyStorage implements StreamingListStorage {
  readonly #options: RemoteCachedStorageOptions;
  readonly #modules: RemoteCachedStorageModules;
  #revision: number | undefined;

  constructor(options: RemoteCachedStorageOptions, modules: RemoteCachedStorageModules) {
    super();
    this.#options = options;
    this.#modules = modules;
  }

  /** See LocalRevisionStorage; undefined before the first list. */
  get localRevision(): number | undefined {
    return this.#revision;
  }

  currentRevision(): Promise<number> {
    return Promise.resolve(this.#revision ?? 0);
  }

  async *streamList(_prefix: string, signal: AbortSignal): AsyncGenerator<WatchBatch> {
    const events: StorageEvent[] = [];
    let token = '';
    let revision = 0;
    do {
      const query = new URLSearchParams({ limit: String(this.#options.pageSize ?? 500) });
      if (token !== '') query.set('continue', token);
      const page = await this.#page(this.#path(query), signal);
      const { items, metadata } = isJsonObject(page) ? page : {};
      if (!Array.isArray(items) || !isJsonObject(metadata)) throw new StorageUnavailableError('not a list');
      for (const item of items as unknown as KubeObject[]) events.push(this.#put(item, true));
      token = typeof metadata['continue'] === 'string' ? metadata['continue'] : '';
      revision = Number(metadata['resourceVersion']);
    } while (token !== '');
    if (!Number.isSafeInteger(revision)) throw new StorageUnavailableError('a list without a resourceVersion');
    this.#revision = revision;
    yield { events, revision };
  }

  override async *watch(_prefix: string, { after, signal }: WatchOptions): AsyncGenerator<WatchBatch> {
    let revision = after;
    while (!signal.aborted) {
      for await (const event of this.#stream(revision, signal)) {
        const at = Number(event.resourceVersion);
        if (!Number.isSafeInteger(at)) throw new StorageUnavailableError('an event without a resourceVersion');
        if (at > revision) revision = at;
        this.#revision = revision;
        yield { events: event.type === 'BOOKMARK' ? [] : [this.#eventOf(event)], revision };
      }
    }
  }

  async *#stream(after: number, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const query = new URLSearchParams({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: String(after),
      timeoutSeconds: String(Math.round(watchSeconds * (1 + this.#modules.random()))),
    });
    const timeout = this.#idleTimeout(signal);
    const path = this.#path(query);
    let response: IncomingMessage | undefined;
    try {
      response = await this.#modules.transport.open({
        method: 'GET',
        path,
        signal: timeout.signal,
        longRunning: true,
      });
      timeout.touch();
      if (response.statusCode !== 200) {
        response.resume();
        throw statusErrorOfResponse(response.statusCode ?? 0, '');
      }
      const lines = new LineSplitter({ maxBytes: maxFrameBytes });
      for await (const chunk of response as AsyncIterable<Buffer>) {
        timeout.touch();
        for (const line of lines.push(chunk)) yield parseWatchEvent(line);
      }
    } catch (error) {
      throw storageErrorOf(timeout.signal.aborted ? timeout.signal.reason : error, after);
    } finally {
      timeout.release();
      response?.destroy();
    }
  }

  #eventOf({ type, object, resourceVersion }: WatchEvent): StorageEvent {
    if (type !== 'DELETED') return this.#put(object, type === 'ADDED');
    return {
      type: 'delete',
      key: this.#key(object),
      value: undefined,
      revision: Number(resourceVersion),
      created: false,
    };
  }

  #put(object: KubeObject, created: boolean): StorageEvent {
    const { resourceVersion, ...metadata } = object.metadata;
    const value = encodeForStorage({ ...object, metadata });
    return { type: 'put', key: this.#key(object), value, revision: Number(resourceVersion), created };
  }

  #key({ metadata }: KubeObject): string {
    const { resource, identity } = this.#options;
    const { annotations = {}, namespace = '', name = '' } = metadata;
    const shard = annotations[shardNameAnnotation] ?? '';
    const cluster = (annotations[clusterAnnotation] ?? '') as LogicalClusterName;
    return cacheKey({ ...resource, identity }, { shard, cluster, namespace, name });
  }

  #path(query: URLSearchParams): string {
    const { resource, identity } = this.#options;
    const api = resource.group === '' ? 'api' : 'apis';
    const base = `/services/cache/shards/*/clusters/*/${api}/${apiVersionOf(resource)}`;
    return `${base}/${resource.resource}:${identity}?${query.toString()}`;
  }

  async #page(path: string, signal: AbortSignal): Promise<Json> {
    const timeout = this.#idleTimeout(signal);
    try {
      return await this.#modules.transport.json({ method: 'GET', path, signal: timeout.signal });
    } catch (error) {
      throw storageErrorOf(timeout.signal.aborted ? timeout.signal.reason : error, this.#revision ?? 0);
    } finally {
      timeout.release();
    }
  }

  #idleTimeout(signal: AbortSignal): IdleTimeout {
    return new IdleTimeout({ idleMs }, { clock: this.#modules.clock, signal });
  }
}

function storageErrorOf(error: unknown, revision: number): Error {
  if (isStatusError(error) && error.code === 410) return new CompactedError(revision, revision + 1);
  return new StorageUnavailableError('the cache server cannot be read', error);
}

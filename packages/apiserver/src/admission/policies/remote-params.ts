import {
  errorText,
  getOwn,
  isJsonObject,
  isStatusError,
  parseJson,
  parseApiVersion,
  type DeepReadonly,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { statusErrorOfResponse, type RestTransport } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import type { ParamKind } from './policy-hook.ts';

/** How the kind of the parameters is served. */
export interface ServedKind {
  readonly resource: string;
  readonly namespaced: boolean;
}

/** The parameters to read: one by name, or all of a namespace or of the logical cluster. */
export interface ParamsQuery {
  readonly cluster: LogicalClusterName;
  readonly kind: ParamKind;
  readonly served: ServedKind;
  readonly namespace: string;
  /** Empty: all objects. */
  readonly name: string;
}

export interface RemoteParamsOptions {
  /** Cache TTL; a change of parameters takes effect this much later than on the local shard. */
  readonly ttlMs: number;
  /** Request timeout; the write waits for it. */
  readonly timeoutMs: number;
  /** Limits of one response, and of all cached ones, in bytes. */
  readonly maxResponseBytes: number;
  readonly maxBytes: number;
}

export const defaultRemoteParamsOptions: RemoteParamsOptions = {
  ttlMs: 1_000,
  timeoutMs: 3_000,
  maxResponseBytes: 4 * 1024 * 1024,
  maxBytes: 16 * 1024 * 1024,
};

export interface RemoteParamsModules {
  /** The transport to logical clusters of other shards; returns undefined if there is none. */
  readonly transport: () => Pick<RestTransport, 'open'> | undefined;
  readonly clock: Clock;
}

/** Parameters on another shard cannot be read. The author of the write sees the message. */
export class RemoteParamsError extends Error {
  override readonly name = 'ElsewhereError';
}

interface RemoteObject {
  /** Undefined if the server returned 404. */
  readonly object: JsonObject | undefined;
  readonly bytes: number;
}

interface CacheEntry {
  readonly response: Promise<RemoteObject>;
  /** Expiry time; infinity while the request is in flight. */
  until: number;
  bytes: number;
}

/** Size estimate of a cache entry without its text. */
const entryBytes = 256;

/**
 * Reads parameters of policies whose logical cluster is on another shard: a provider's policies apply to objects of
 * consumers on every shard, and their parameters are stored with the provider. The remote shard is read with the
 * shards' own identity, which is authorized there for the parameters of active policies only.
 *
 * Responses, including errors, are cached for a short time, so that many writes cost one request, and an unresponsive
 * shard delays one write at a time; concurrent lookups share one request. The cache is bounded in bytes and evicts the
 * oldest entries.
 */
export class RemoteParams {
  readonly #options: RemoteParamsOptions;
  readonly #modules: RemoteParamsModules;
  readonly #cache = new Map<string, CacheEntry>();
  #bytes = 0;

  constructor(options: RemoteParamsOptions, modules: RemoteParamsModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Discovers how a kind is served in a logical cluster; undefined if it is not. Throws {@link RemoteParamsError}. */
  async servedKind(cluster: LogicalClusterName, { apiVersion, kind }: ParamKind): Promise<ServedKind | undefined> {
    const list = await this.#get(`/clusters/${cluster}${pathOf(apiVersion)}`);
    const resources = list?.['resources'];
    if (!Array.isArray(resources)) return undefined;
    for (const one of resources) {
      if (!isJsonObject(one) || getOwn(one, 'kind') !== kind) continue;
      const name = getOwn(one, 'name');
      if (typeof name === 'string' && !name.includes('/'))
        return { resource: name, namespaced: getOwn(one, 'namespaced') === true };
    }
    return undefined;
  }

  /** Reads the objects. Throws {@link RemoteParamsError}. */
  async objects({ cluster, kind, served, namespace, name }: ParamsQuery): Promise<readonly DeepReadonly<KubeObject>[]> {
    const scope = served.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : '';
    const path = `/clusters/${cluster}${pathOf(kind.apiVersion)}${scope}/${served.resource}`;
    if (name !== '') {
      const object = await this.#get(`${path}/${encodeURIComponent(name)}`);
      return object === undefined ? [] : [object as unknown as DeepReadonly<KubeObject>];
    }
    const items = (await this.#get(path))?.['items'];
    if (!Array.isArray(items)) return [];
    // Items of typed lists have no apiVersion and kind.
    return items.map((item) => ({ ...kind, ...(item as object) }) as unknown as KubeObject);
  }

  async #get(path: string): Promise<JsonObject | undefined> {
    let cached = this.#cache.get(path);
    if (cached !== undefined && cached.until <= this.#modules.clock.monotonic()) {
      this.#evict(path, cached);
      cached = undefined;
    }
    cached ??= this.#fetchAndCache(path);
    return (await cached.response).object;
  }

  #fetchAndCache(path: string): CacheEntry {
    const entry = {
      response: this.#fetch(path),
      until: Number.POSITIVE_INFINITY,
      bytes: entryBytes + path.length,
    };
    this.#cache.set(path, entry);
    this.#bytes += entry.bytes;
    const settled = (bytes: number): void => {
      entry.until = this.#modules.clock.monotonic() + this.#options.ttlMs;
      if (this.#cache.get(path) !== entry) return;
      entry.bytes += bytes;
      this.#bytes += bytes;
      this.#shrink();
    };
    entry.response.then(
      ({ bytes }) => settled(bytes),
      // The callers handle the error; here it is only cached.
      () => settled(0),
    );
    this.#shrink();
    return entry;
  }

  /** A Map iterates in insertion order, so the oldest entry is evicted first. */
  #shrink(): void {
    for (const [path, entry] of this.#cache) {
      if (this.#bytes <= this.#options.maxBytes) break;
      this.#evict(path, entry);
    }
  }

  #evict(path: string, entry: CacheEntry): void {
    this.#cache.delete(path);
    this.#bytes -= entry.bytes;
  }

  async #fetch(path: string): Promise<RemoteObject> {
    const transport = this.#modules.transport();
    if (transport === undefined)
      throw new RemoteParamsError('this shard has no --external-logical-cluster-admin-kubeconfig to reach others with');
    const { timeoutMs, maxResponseBytes } = this.#options;
    const timeout = new AbortController();
    const timer = this.#modules.clock.after(timeoutMs, () => timeout.abort(new Error('request timed out')));
    try {
      const response = await transport.open({ method: 'GET', path, signal: timeout.signal });
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of response as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > maxResponseBytes) throw new RemoteParamsError(`they are larger than ${maxResponseBytes} bytes`);
        chunks.push(chunk);
      }
      const text = Buffer.concat(chunks).toString();
      const code = response.statusCode ?? 0;
      if (code === 404) return { object: undefined, bytes: 0 };
      if (code < 200 || code > 299) throw statusErrorOfResponse(code, text);
      const value = parseJson(text);
      return { object: isJsonObject(value) ? value : undefined, bytes: size };
    } catch (error) {
      if (error instanceof RemoteParamsError) throw error;
      throw new RemoteParamsError(describeError(timeout.signal.aborted ? timeout.signal.reason : error), {
        cause: error,
      });
    } finally {
      timer.cancel();
    }
  }
}

/** Describes an error without its message, which may name internal identities. */
function describeError(error: unknown): string {
  if (!isStatusError(error)) return errorText(error);
  return error.code === 403
    ? 'access to them is denied'
    : `the server returned ${error.code} ${error.reason}`.trimEnd();
}

function pathOf(apiVersion: string): string {
  const { group = '', version = apiVersion } = parseApiVersion(apiVersion) ?? {};
  return group === '' ? `/api/${version}` : `/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`;
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KubeObject } from '@multiplane/apimachinery';
import type { ObjectReference } from '../../src/lister.ts';

interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
  readonly revision: number;
}

interface Watcher {
  readonly response: ServerResponse;
}

const keyOf = ({ cluster, namespace, name }: ObjectReference): string => `${cluster}/${namespace}/${name}`;

/**
 * A server with one resource (ConfigMaps of any logical cluster) for tests of clients: paged lists, watches, initial events
 * and bookmarks as kube-apiserver serves them, and failures that a test injects.
 */
export class ScriptedServer {
  readonly #server: Server;
  readonly #objects = new Map<string, KubeObject>();
  readonly #watchers = new Set<Watcher>();
  #history: Change[] = [];
  #revision = 100;
  #oldest = 100;
  /** Decoded paths of all requests so far. */
  readonly requests: string[] = [];
  /** Supports `sendInitialEvents`; otherwise rejects it with 422. */
  watchList = true;
  /** Fails all requests with this status code while it is set. */
  failWith: number | undefined;
  /** Rejects the next continue token as expired. */
  expireToken = false;
  /** Called before each page after the first one. */
  onPage: () => void = () => {};

  private constructor() {
    this.#server = createServer((request, response) => this.#handle(request, response));
  }

  static async start(): Promise<ScriptedServer> {
    const scripted = new ScriptedServer();
    scripted.#server.listen(0, '127.0.0.1');
    await once(scripted.#server, 'listening');
    return scripted;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  put(reference: ObjectReference, metadata: Partial<KubeObject['metadata']> = {}): void {
    const key = keyOf(reference);
    const { cluster, namespace, name } = reference;
    const known = this.#objects.has(key);
    this.#revision += 1;
    const object: KubeObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name,
        namespace,
        resourceVersion: String(this.#revision),
        ...metadata,
        annotations: { 'kcp.io/cluster': cluster, ...metadata.annotations },
      },
    };
    this.#objects.set(key, object);
    this.#publish({ type: known ? 'MODIFIED' : 'ADDED', object, revision: this.#revision });
  }

  remove(reference: ObjectReference): void {
    const key = keyOf(reference);
    const last = this.#objects.get(key);
    if (last === undefined) throw new Error(`${key} does not exist`);
    this.#objects.delete(key);
    this.#revision += 1;
    const object = { ...last, metadata: { ...last.metadata, resourceVersion: String(this.#revision) } };
    this.#publish({ type: 'DELETED', object, revision: this.#revision });
  }

  /** Drops the history: watches from older versions get 410. */
  compact(): void {
    this.#history = [];
    this.#oldest = this.#revision;
  }

  /** Closes all connections abruptly. */
  cut(): void {
    this.#watchers.clear();
    this.#server.closeAllConnections();
  }

  /** Ends all watches gracefully. */
  endWatches(): void {
    for (const { response } of this.#watchers) response.end();
    this.#watchers.clear();
  }

  /** Writes raw text to all watches. */
  inject(text: string): void {
    for (const { response } of this.#watchers) response.write(text);
  }

  bookmark(): void {
    this.inject(this.#bookmarkLine(false));
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
  }

  #publish(change: Change): void {
    this.#history.push(change);
    for (const { response } of this.#watchers) response.write(lineOf(change.type, change.object));
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://server');
    this.requests.push(decodeURIComponent(`${url.pathname}${url.search}`));
    if (this.failWith !== undefined) {
      this.#fail(response, this.failWith, 'scripted failure');
    } else if (url.searchParams.get('watch') === 'true') {
      this.#watch(url.searchParams, response);
    } else {
      this.#list(url.searchParams, response);
    }
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const limit = Number(query.get('limit') ?? 0);
    const token = query.get('continue');
    if (token !== null) {
      this.onPage();
      if (this.expireToken) {
        this.expireToken = false;
        this.#fail(response, 410, 'The provided continue parameter is too old');
        return;
      }
    }
    const from = Number(token ?? 0);
    const all = this.#sorted();
    const items = limit === 0 ? all.slice(from) : all.slice(from, from + limit);
    const more = from + items.length < all.length;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        kind: 'ConfigMapList',
        apiVersion: 'v1',
        metadata: {
          resourceVersion: String(this.#revision),
          ...(more ? { continue: String(from + items.length) } : {}),
        },
        items: items.map(({ metadata }) => ({ metadata })),
      }),
    );
  }

  #watch(query: URLSearchParams, response: ServerResponse): void {
    const initial = query.get('sendInitialEvents') === 'true';
    if (initial && !this.watchList) {
      this.#fail(response, 422, 'sendInitialEvents is forbidden for watch');
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const after = Number(query.get('resourceVersion') ?? 0);
    if (initial) {
      for (const object of this.#sorted()) response.write(lineOf('ADDED', object));
      response.write(this.#bookmarkLine(true));
    } else if (after < this.#oldest) {
      response.end(lineOf('ERROR', statusOf(410, `too old resource version: ${after} (${this.#oldest})`)));
      return;
    } else {
      for (const { type, object, revision } of this.#history)
        if (revision > after) response.write(lineOf(type, object));
    }
    const watcher = { response };
    this.#watchers.add(watcher);
    response.on('close', () => this.#watchers.delete(watcher));
  }

  #fail(response: ServerResponse, code: number, message: string): void {
    response.writeHead(code, { 'content-type': 'application/json' });
    response.end(JSON.stringify(statusOf(code, message)));
  }

  #bookmarkLine(end: boolean): string {
    return lineOf('BOOKMARK', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        resourceVersion: String(this.#revision),
        ...(end ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
      },
    });
  }

  #sorted(): KubeObject[] {
    return [...this.#objects.keys()].sort().map((key) => this.#objects.get(key) as KubeObject);
  }
}

const lineOf = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;

const statusOf = (code: number, message: string): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason: code === 410 ? 'Expired' : code === 422 ? 'Invalid' : 'ServiceUnavailable',
  code,
});

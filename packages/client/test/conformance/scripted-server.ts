import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KubeObject } from '@multiplane/apimachinery';
import type { ObjectReference } from '../lister.ts';

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
 * A server with one resource (ConfigMaps of any logical cluster) for tests of clients: lists in pages, watches, initial
 * events, bookmarks, as K3 has them; and it fails whenever a test says so.
 */
export class ScriptedServer {
  readonly #server: Server;
  readonly #objects = new Map<string, KubeObject>();
  readonly #watchers = new Set<Watcher>();
  #history: Change[] = [];
  #revision = 100;
  #oldest = 100;
  /** Every request line so far, decoded. */
  readonly requests: string[] = [];
  /** Answers a watch with initial events; refuses it with 422 otherwise. */
  watchList = true;
  /** Answers everything with this code while it is set. */
  failWith: number | undefined;
  /** The next continue token is refused as expired. */
  expireToken = false;
  /** Called before the second and every further page. */
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
    this.#happened({ type: known ? 'MODIFIED' : 'ADDED', object, revision: this.#revision });
  }

  remove(reference: ObjectReference): void {
    const key = keyOf(reference);
    const last = this.#objects.get(key);
    if (last === undefined) throw new Error(`${key} is not there`);
    this.#objects.delete(key);
    this.#revision += 1;
    const object = { ...last, metadata: { ...last.metadata, resourceVersion: String(this.#revision) } };
    this.#happened({ type: 'DELETED', object, revision: this.#revision });
  }

  /** Forgets all history: older versions are answered with 410 from now on. */
  compact(): void {
    this.#history = [];
    this.#oldest = this.#revision;
  }

  /** Resets every connection. */
  cut(): void {
    this.#watchers.clear();
    this.#server.closeAllConnections();
  }

  /** Ends every watch properly. */
  endWatches(): void {
    for (const { response } of this.#watchers) response.end();
    this.#watchers.clear();
  }

  /** Writes to every watch, whatever it is. */
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

  #happened(change: Change): void {
    this.#history.push(change);
    for (const { response } of this.#watchers) response.write(lineOf(change.type, change.object));
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://server');
    this.requests.push(decodeURIComponent(`${url.pathname}${url.search}`));
    if (this.failWith !== undefined) {
      this.#refuse(response, this.failWith, 'scripted failure');
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
        this.#refuse(response, 410, 'The provided continue parameter is too old');
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
      this.#refuse(response, 422, 'sendInitialEvents is forbidden for watch');
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

  #refuse(response: ServerResponse, code: number, message: string): void {
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

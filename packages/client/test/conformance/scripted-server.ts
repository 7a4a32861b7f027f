import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
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
  /** `Authorization` of all requests so far. */
  readonly credentials = new Set<string | undefined>();
  /** Fails requests with this status code while it is set: all of them, or those for the resource. */
  failWith: number | undefined;
  failFor: string | undefined;
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

  /** `fields`: those besides the metadata. */
  put(reference: ObjectReference, metadata: Partial<KubeObject['metadata']> = {}, fields: object = {}): void {
    const key = keyOf(reference);
    const { cluster, namespace, name } = reference;
    const known = this.#objects.has(key);
    this.#revision += 1;
    const object: KubeObject = {
      ...fields,
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
    this.credentials.add(request.headers.authorization);
    if (this.failWith !== undefined && (this.failFor === undefined || url.pathname.endsWith(`/${this.failFor}`))) {
      this.#fail(response, this.failWith, 'scripted failure');
    } else if (url.searchParams.get('watch') === 'true') {
      this.#watch(url.searchParams, response);
    } else {
      const [, cluster = '', namespace = '', name] =
        /\/clusters\/([^/]+)\/.*\/namespaces\/([^/]+)\/[^/]+\/([^/]+)$/.exec(decodeURIComponent(url.pathname)) ?? [];
      if (name === undefined) this.#list(url.searchParams, response);
      else this.#get(keyOf({ cluster: cluster as LogicalClusterName, namespace, name }), response);
    }
  }

  #get(key: string, response: ServerResponse): void {
    const object = this.#objects.get(key);
    if (object === undefined) this.#fail(response, 404, `${key} not found`);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(object));
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
        // As in Kubernetes, the kind is that of the list.
        items: items.map((item) => ({ ...item, apiVersion: undefined, kind: undefined })),
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

const reasons = new Map([
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [410, 'Expired'],
  [422, 'Invalid'],
]);
const lineOf = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;

const statusOf = (code: number, message: string): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason: reasons.get(code) ?? 'ServiceUnavailable',
  code,
});

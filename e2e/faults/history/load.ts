import { isStatusError, type KubeObject, type LogicalClusterName, StatusError } from '@multiplane/apimachinery';
import { LineSplitter, RestClient, type RestTransport } from '@multiplane/client';
import type { Received } from './check-watch.ts';
import type { Action, Operation } from './operation.ts';

const configMaps = { group: '', version: 'v1', resource: 'configmaps' };
const cluster = 'root' as LogicalClusterName;

export interface LoadOptions {
  /** Distinguishes the objects of this load from those of an earlier one. */
  readonly name: string;
  /** The namespace of the objects. */
  readonly namespace: string;
  readonly clients: number;
  readonly watches: number;
  readonly random: () => number;
}

export interface LoadModules {
  /** A new connection to the control plane, which may be away. */
  readonly connect: () => RestTransport;
}

/** Objects that clients compete for at a time. */
const hotKeys = 5;
/** Operations per key; then a new one takes its place, so that histories stay short enough to be checked. */
const operationsPerKey = 60;
const pauseMs = 20;

type Body = KubeObject & { readonly data: { readonly value: string } };

/**
 * Mixed load that records its history: clients read, create, update with a precondition and delete a few objects, all at
 * once; watches follow them over reconnections. Nothing is repeated: each request is one operation with its outcome.
 */
export class RecordedLoad {
  readonly operations: Operation[] = [];
  readonly watches: Received[][];
  readonly #options: LoadOptions;
  readonly #modules: LoadModules;
  readonly #stopped = new AbortController();
  readonly #ended = new AbortController();
  #clients: Promise<unknown> = Promise.resolve();
  #followers: Promise<unknown> = Promise.resolve();
  #values = 0;
  #keys: { name: string; left: number }[] = [];
  #created = 0;

  constructor(options: LoadOptions, modules: LoadModules) {
    this.#options = options;
    this.#modules = modules;
    this.watches = Array.from({ length: options.watches }, () => []);
  }

  start(): void {
    this.#clients = Promise.all(Array.from({ length: this.#options.clients }, (_, i) => this.#client(i)));
    this.#followers = Promise.all(this.watches.map((received) => this.#watch(received)));
  }

  /** Acknowledged writes. */
  get acknowledged(): number {
    return this.operations.filter(({ action, end }) => action.kind !== 'read' && end !== Infinity).length;
  }

  /** Ends the clients, then the watches once they have received the last write; false: one did not within the time. */
  async stop(patienceMs: number): Promise<boolean> {
    this.#stopped.abort();
    await this.#clients;
    const last = Math.max(
      0,
      ...this.operations.map(({ action: { outcome } }) => (typeof outcome === 'object' ? outcome.revision : 0)),
    );
    const hasCaughtUp = (): boolean => this.watches.every((received) => (received.at(-1)?.revision ?? 0) >= last);
    for (const deadline = performance.now() + patienceMs; !hasCaughtUp() && performance.now() < deadline;)
      await pause(pauseMs);
    this.#ended.abort();
    await this.#followers;
    return hasCaughtUp();
  }

  async #client(client: number): Promise<void> {
    const { namespace, random } = this.#options;
    let transport = this.#modules.connect();
    /** The last object that this client has read, by key. */
    const known = new Map<string, Body>();
    while (!this.#stopped.signal.aborted) {
      const key = this.#key(random());
      const reference = { cluster, namespace, name: key };
      const rest = new RestClient({ transport });
      const value = `${client}-${this.#values++}`;
      const before = known.get(key);
      const start = performance.now();
      const dice = random();
      const record = (action: Action): void => {
        const isUnknown = action.outcome === 'unknown';
        this.operations.push({ client, key, start, end: isUnknown ? Infinity : performance.now(), action });
      };
      try {
        if (dice < 0.35) {
          const found = (await rest.get(configMaps, reference)) as Body;
          known.set(key, found);
          record({ kind: 'read', outcome: { revision: revisionOf(found), value: found.data.value } });
        } else if (before === undefined || dice < 0.5) {
          const made = (await rest.create(configMaps, cluster, bodyOf(namespace, key, value))) as Body;
          known.set(key, made);
          record({ kind: 'create', value, outcome: { revision: revisionOf(made) } });
        } else if (dice < 0.9) {
          const made = (await rest.update(configMaps, cluster, { ...before, data: { value } })) as Body;
          known.set(key, made);
          record({ kind: 'update', value, expected: revisionOf(before), outcome: { revision: revisionOf(made) } });
        } else {
          const preconditions = { resourceVersion: String(revisionOf(before)) };
          await rest.delete(configMaps, reference, { preconditions });
          known.delete(key);
          record({ kind: 'delete', expected: revisionOf(before), outcome: 'deleted' });
        }
      } catch (error) {
        const kind =
          dice < 0.35 ? 'read' : before === undefined || dice < 0.5 ? 'create' : dice < 0.9 ? 'update' : 'delete';
        const action = failureOf(error, { kind, value, expected: before === undefined ? 0 : revisionOf(before) });
        if (action !== undefined) record(action);
        if (kind !== 'read') known.delete(key);
        if (!isStatusError(error)) {
          transport.close();
          transport = this.#modules.connect();
          await pause(pauseMs * 5);
        }
      }
      await pause(pauseMs * random());
    }
    transport.close();
  }

  async #watch(received: Received[]): Promise<void> {
    const path = `/clusters/${cluster}/api/v1/namespaces/${this.#options.namespace}/configmaps`;
    let revision = 0;
    while (!this.#ended.signal.aborted) {
      const transport = this.#modules.connect();
      try {
        if (revision === 0) revision = await this.#list(transport, path, received);
        const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${revision}`;
        const request = { method: 'GET', path: `${path}?${query}`, longRunning: true, signal: this.#ended.signal };
        const response = await transport.open(request);
        const lines = new LineSplitter({ maxBytes: 1 << 20 });
        for await (const chunk of response as AsyncIterable<Buffer>) {
          for (const line of lines.push(chunk)) {
            const { type, object } = JSON.parse(line.toString()) as { type: Received['type'] | 'ERROR'; object: Body };
            if (type === 'ERROR') throw new StatusError({ code: 410, reason: 'Expired', message: 'the watch ended' });
            revision = revisionOf(object);
            if (type === 'BOOKMARK') received.push({ type, revision });
            else if (type !== 'LIST' && isOwn(object))
              received.push({ type, key: object.metadata.name ?? '', revision, value: object.data.value });
          }
        }
      } catch (error) {
        if (isStatusError(error) && error.code === 410) revision = 0;
      } finally {
        transport.close();
      }
      await pause(pauseMs);
    }
  }

  async #list(transport: RestTransport, path: string, received: Received[]): Promise<number> {
    const answer = await transport.json({ method: 'GET', path });
    const { metadata, items } = answer as unknown as { metadata: { resourceVersion: string }; items: Body[] };
    const revision = Number(metadata.resourceVersion);
    const own = items.filter(isOwn);
    const objects = new Map(own.map((item) => [item.metadata.name ?? '', item.data.value]));
    received.push({ type: 'LIST', revision, objects });
    return revision;
  }

  /** One of the hot keys. */
  #key(random: number): string {
    const i = Math.floor(random * hotKeys);
    let slot = this.#keys[i];
    if (slot === undefined || slot.left === 0)
      this.#keys[i] = slot = { name: `key-${this.#options.name}-${this.#created++}`, left: operationsPerKey };
    slot.left--;
    return slot.name;
  }
}

/** Other objects of the namespace (kube-root-ca.crt) are not of a load. */
const isOwn = ({ metadata }: KubeObject): boolean => metadata.name?.startsWith('key-') === true;

const revisionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion);

const bodyOf = (namespace: string, name: string, value: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace, name },
  data: { value },
});

/**
 * The operation that a failed request was; undefined: it had no effect. A refused connection and 429, 503 had none; a
 * connection that broke and 500, 504 may have had one.
 */
function failureOf(
  error: unknown,
  { kind, value, expected }: { readonly kind: Action['kind']; readonly value: string; readonly expected: number },
): Action | undefined {
  const code = isStatusError(error) ? error.code : 0;
  if (kind === 'read') return code === 404 ? { kind, outcome: 'missing' } : undefined;
  if (code === 429 || code === 503) return undefined;
  const isRefused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
  if (isRefused) return undefined;
  if (code === 409)
    return kind === 'create' ? { kind, value, outcome: 'exists' } : { kind, value, expected, outcome: 'conflict' };
  if (code === 404 && kind !== 'create') return { kind, value, expected, outcome: 'missing' };
  return kind === 'create' ? { kind, value, outcome: 'unknown' } : { kind, value, expected, outcome: 'unknown' };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

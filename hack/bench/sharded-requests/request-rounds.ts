import { RawConnection, type ClientPair } from '../api/raw-client.ts';
import { idleRate, total, usageOf, type Processes, type Usage } from '../virtual-resources/usage.ts';

export const verbs = ['GET', 'CREATE', 'UPDATE', 'PATCH', 'DELETE'] as const;
export type Verb = (typeof verbs)[number];

/** Where requests go, and the processes that work for them. */
export interface Side {
  readonly port: number;
  readonly token?: string;
  readonly identity?: ClientPair;
  readonly processes: Processes;
}

/** What a request of a round cost. */
export interface Cost {
  /** Seconds of processor time of all processes for 1,000 requests, without what they use while nobody asks. */
  readonly each: number;
  /** The same of each process, idle work included. */
  readonly of: ReadonlyMap<string, number>;
  readonly perSecond: number;
}

const clients = 64;
const collection = '/clusters/root/api/v1/namespaces/default/configmaps';
const filler = 'x'.repeat(1_024);
const successes: ReadonlySet<number> = new Set([200, 201]);

/**
 * Rounds of one verb at a time over the same 64 connections, each with one request in flight. Every round of UPDATE, PATCH
 * and DELETE finds the objects that the round of CREATE before it made.
 */
export class RequestRounds {
  readonly #side: Side;
  readonly #connections: readonly RawConnection[];
  readonly #idle: number;
  #series = 0;

  private constructor(side: Side, connections: readonly RawConnection[], idle: number) {
    this.#side = side;
    this.#connections = connections;
    this.#idle = idle;
  }

  static async open(side: Side): Promise<RequestRounds> {
    const idle = await idleRate(side.processes);
    const connections = await Promise.all(
      Array.from({ length: clients }, () => RawConnection.open(side.port, side.identity)),
    );
    const rounds = new RequestRounds(side, connections, idle);
    await connections[0]?.send(rounds.#request('POST', collection, rounds.#object('read')));
    return rounds;
  }

  /** `count` requests of each verb, in the order of {@link verbs}. */
  async all(count: number): Promise<ReadonlyMap<Verb, Cost>> {
    this.#series++;
    const costs = new Map<Verb, Cost>();
    for (const verb of verbs) costs.set(verb, await this.round(verb, count));
    return costs;
  }

  async round(verb: Verb, count: number): Promise<Cost> {
    const before = usageOf(this.#side.processes);
    const began = performance.now();
    let next = 0;
    await Promise.all(
      this.#connections.map(async (connection) => {
        for (let n = next++; n < count; n = next++) {
          const { status } = await connection.send(this.#requestOf(verb, n));
          if (!successes.has(status)) throw new Error(`${verb} was answered with ${status}`);
        }
      }),
    );
    const seconds = (performance.now() - began) / 1000;
    return cost(before, usageOf(this.#side.processes), { count, seconds, idle: this.#idle });
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  #requestOf(verb: Verb, n: number): string {
    const name = `o-${this.#series}-${n}`;
    const path = `${collection}/${name}`;
    if (verb === 'GET') return this.#request('GET', `${collection}/read`);
    if (verb === 'CREATE') return this.#request('POST', collection, this.#object(name));
    if (verb === 'UPDATE') return this.#request('PUT', path, this.#object(name, 'updated'));
    if (verb === 'DELETE') return this.#request('DELETE', path);
    return this.#request('PATCH', path, { data: { step: 'patched' } }, 'application/merge-patch+json');
  }

  #object(name: string, step = 'made'): object {
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { step, filler } };
  }

  #request(method: string, path: string, body?: object, type = 'application/json'): string {
    const { token } = this.#side;
    const text = body === undefined ? '' : JSON.stringify(body);
    return (
      `${method} ${path} HTTP/1.1\r\nhost: bench\r\naccept: application/json\r\n` +
      (token === undefined ? '' : `authorization: Bearer ${token}\r\n`) +
      (text === '' ? '\r\n' : `content-type: ${type}\r\ncontent-length: ${text.length}\r\n\r\n${text}`)
    );
  }
}

function cost(
  before: Usage,
  after: Usage,
  { count, seconds, idle }: { readonly count: number; readonly seconds: number; readonly idle: number },
): Cost {
  const of = new Map<string, number>();
  for (const [name, used] of after) of.set(name, ((used - (before.get(name) ?? 0)) * 1000) / count);
  return {
    each: ((total(after) - total(before) - idle * seconds) * 1000) / count,
    of,
    perSecond: count / seconds,
  };
}

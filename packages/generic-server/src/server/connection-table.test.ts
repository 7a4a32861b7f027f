import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { describe, expect, test } from '@jest/globals';
import { ConnectionTable } from './connection-table.ts';

let nextPort = 1;

/** The part of a socket that the table uses; `close` follows `destroy` later, as in Node. */
class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  readonly remotePort = nextPort++;
  destroyed = false;
  constructor(address: string) {
    super();
    this.remoteAddress = address;
  }
  destroy(): void {
    this.destroyed = true;
  }
  close(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

class Clients {
  readonly table: ConnectionTable;
  constructor(beforeAuthentication: number, perSource: number, total = 1_000, perUser = 1_000) {
    const limits = { beforeAuthentication, beforeAuthenticationPerSource: perSource, perUser, total };
    this.table = new ConnectionTable(limits);
  }
  connect(address = '10.0.0.1'): FakeSocket {
    const socket = new FakeSocket(address);
    this.table.accept(socket as unknown as Socket);
    return socket;
  }
  connectMany(count: number, address?: string): FakeSocket[] {
    return Array.from({ length: count }, () => this.connect(address));
  }
  authenticate(socket: FakeSocket, user?: string): void {
    this.table.markAuthenticated(socket as unknown as TLSSocket, user);
  }
  /** Returns what ends the request. */
  request(socket: FakeSocket): () => void {
    const response = new EventEmitter();
    this.table.requestStarted(socket as unknown as TLSSocket, response);
    return () => response.emit('close');
  }
}
const closed = (sockets: readonly FakeSocket[]): number => sockets.filter(({ destroyed }) => destroyed).length;

describe('at the limit of a source', () => {
  test('its own oldest silent connection is closed, and those of others stay', () => {
    const clients = new Clients(100, 10);
    const other = clients.connectMany(5, '10.0.0.2');
    const flood = clients.connectMany(30, '10.0.0.1');
    expect([closed(other), closed(flood)]).toEqual([0, 20]);
    expect(flood.slice(-10).filter(({ destroyed }) => destroyed)).toEqual([]);
    expect([clients.table.unauthenticated, clients.table.evicted, clients.table.rejected]).toEqual([15, 20, 0]);
  });

  test('a connection with a request is closed last, and one that becomes silent is the youngest', () => {
    const clients = new Clients(100, 3);
    const [busy, quiet] = clients.connectMany(2) as [FakeSocket, FakeSocket];
    const endBusy = clients.request(busy);
    clients.request(quiet)();
    const third = clients.connect();
    clients.connect();
    expect([busy.destroyed, quiet.destroyed, third.destroyed]).toEqual([false, true, false]);
    endBusy();
    clients.connect();
    expect([busy.destroyed, third.destroyed]).toEqual([false, true]);
    clients.connectMany(2);
    expect(busy.destroyed).toBe(true);
  });

  test('requests without end hold no place for good', () => {
    const clients = new Clients(100, 3);
    const stalled = clients.connectMany(3);
    for (const socket of stalled) clients.request(socket);
    clients.connect();
    expect(stalled.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
  });

  test('an authenticated connection does not count and is never closed', () => {
    const clients = new Clients(100, 2);
    const known = clients.connectMany(50);
    for (const socket of known.slice(-2)) clients.authenticate(socket);
    clients.connectMany(10);
    expect(closed(known.slice(-2))).toBe(0);
    expect(clients.table.unauthenticated).toBe(2);
  });
});

describe('at the limit of all sources', () => {
  test('the source with the most connections loses one, not a client with a single one', () => {
    const clients = new Clients(20, 15);
    const single = clients.connect('10.0.0.9');
    const [a, b] = [clients.connectMany(10, '10.0.0.1'), clients.connectMany(9, '10.0.0.2')];
    const newcomer = clients.connect('10.0.0.3');
    expect([single.destroyed, newcomer.destroyed, closed(a), closed(b)]).toEqual([false, false, 1, 0]);
  });

  test('a network of IPv6 is one source, and IPv4 in IPv6 notation is IPv4', () => {
    const clients = new Clients(100, 4);
    const network = Array.from({ length: 8 }, (_, i) => clients.connect(`2001:db8:0:1::${i + 1}`));
    const other = clients.connect('2001:db8:0:2::1');
    const short = clients.connect('2001:db8::1');
    expect([closed(network), other.destroyed, short.destroyed]).toEqual([4, false, false]);
    const mapped = clients.connectMany(3, '::ffff:10.0.0.1');
    const plain = clients.connectMany(3, '10.0.0.1');
    expect([closed(mapped), closed(plain)]).toEqual([2, 0]);
  });

  test('only authenticated connections left: the newcomer is closed', () => {
    const clients = new Clients(10, 10, 5);
    const known = clients.connectMany(5);
    for (const socket of known) clients.authenticate(socket);
    expect(clients.connect().destroyed).toBe(true);
    expect([closed(known), clients.table.rejected, clients.table.open]).toEqual([0, 1, 5]);
    known[0]?.close();
    expect(clients.connect().destroyed).toBe(false);
  });
});

test('closed connections free their places, once', () => {
  const clients = new Clients(10, 5);
  const sockets = clients.connectMany(20);
  for (const socket of sockets) socket.close();
  for (const socket of sockets) socket.close();
  expect([clients.table.open, clients.table.unauthenticated]).toEqual([0, 0]);
  // A request of a closed connection ends after it.
  const socket = clients.connect();
  const end = clients.request(socket);
  socket.close();
  end();
  expect(clients.table.unauthenticated).toBe(0);
});

describe('authenticated connections', () => {
  const connect = (clients: Clients, count: number, user: string): FakeSocket[] =>
    Array.from({ length: count }, () => {
      const socket = clients.connect();
      clients.authenticate(socket, user);
      return socket;
    });

  test('of the user with the most are closed for newcomers, oldest first', () => {
    const clients = new Clients(100, 100, 10);
    const [few, flood] = [connect(clients, 2, 'few'), connect(clients, 8, 'flood')];
    flood[0]?.close();
    const before = clients.connect();
    clients.authenticate(before, 'flood');
    const newcomer = clients.connect();
    expect([newcomer.destroyed, closed(few)]).toEqual([false, 0]);
    expect(flood.map(({ destroyed }) => destroyed).slice(0, 3)).toEqual([true, true, false]);
    expect([clients.table.evicted, clients.table.rejected]).toEqual([1, 0]);
  });

  test('of one user have a limit', () => {
    const clients = new Clients(100, 100, 1_000, 5);
    expect(closed(connect(clients, 8, 'flood'))).toBe(3);
    expect(closed(connect(clients, 5, 'other'))).toBe(0);
  });

  test('through which several users send requests are not closed', () => {
    const clients = new Clients(100, 100, 10, 5);
    const proxy = connect(clients, 5, 'a');
    for (const socket of proxy) clients.authenticate(socket, 'b');
    connect(clients, 5, 'c');
    clients.connect();
    expect(closed(proxy)).toBe(0);
  });

  test('of users with one each keep their places: the newcomer is closed', () => {
    const clients = new Clients(100, 100, 3);
    const all = ['a', 'b', 'c'].flatMap((user) => connect(clients, 1, user));
    expect([clients.connect().destroyed, closed(all)]).toEqual([true, 0]);
  });
});

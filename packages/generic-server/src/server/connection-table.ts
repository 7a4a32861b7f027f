import { randomBytes } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { isIPv6, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { LinkedList, type ListElement } from '@multiplane/component-base';
import { ConnectionNames } from './connection-names.ts';

export interface ConnectionLimits {
  /** Connections without an authenticated request. */
  readonly beforeAuthentication: number;
  /** The same, from one source: an IPv4 address or an IPv6 network of 64 bits. */
  readonly beforeAuthenticationPerSource: number;
  /** Connections of one authenticated user. */
  readonly perUser: number;
  /** All connections. */
  readonly total: number;
}

/** Clients behind one address translation or load balancer share a source, so it gets half of all places. */
export const defaultConnectionLimits: ConnectionLimits = {
  beforeAuthentication: 2_000,
  beforeAuthenticationPerSource: 1_000,
  perUser: 10_000,
  total: 50_000,
};

/** A connection that is not authenticated. */
interface Newcomer {
  readonly socket: Socket;
  readonly source: Source;
  /** Requests without a complete response. */
  requests: number;
  /** Its place in one of the lists of its source; undefined once it is authenticated or closed. */
  place: ListElement<Newcomer> | undefined;
}

/** The unauthenticated connections from one source, oldest first. */
interface Source {
  readonly name: string;
  /** Those without a request. A connection whose last request ends goes to the end. */
  readonly silent: LinkedList<Newcomer>;
  readonly busy: LinkedList<Newcomer>;
}

/** An authenticated connection. */
interface Member {
  readonly socket: Socket;
  /** Undefined: requests of several users arrive through it, as from a front-proxy. */
  user: User | undefined;
  place: ListElement<Member> | undefined;
}

/** The authenticated connections of one user, oldest first. */
interface User {
  readonly name: string;
  readonly members: LinkedList<Member>;
}

const sizeOf = ({ silent, busy }: Source): number => silent.size + busy.size;

/** Part of a header of every request between servers. */
const shortId = (): string => randomBytes(9).toString('base64url');

export interface ConnectionTableModules {
  /** A unique name of this process, for {@link ConnectionTable.names}. */
  readonly newId?: (() => string) | undefined;
}

/**
 * Limits connections, so that unauthenticated clients cannot exhaust them (compare etcd CVE-2026-73500). A connection
 * counts as unauthenticated until {@link markAuthenticated} is called for it.
 *
 * A client authenticates with its first request, within milliseconds; a connection that only occupies a place stays silent.
 * So a newcomer is accepted at a limit, and another unauthenticated connection is closed for it:
 *
 * ```
 *   limit of its source reached   the oldest silent connection of the source, else its oldest one
 *   limit of all reached          the same of the source with the most unauthenticated connections
 *   only authenticated ones left  the oldest one of the user with the most; if all have one, the newcomer, before its handshake
 *   limit of its user reached     the oldest one of the user
 * ```
 * Connections through which several users send requests are not closed.
 */
export class ConnectionTable {
  readonly names: ConnectionNames;
  readonly #limits: ConnectionLimits;
  readonly #sockets = new LinkedList<Socket>();
  readonly #sources = new Map<string, Source>();
  /**
   * By address and port of the client, because Node does not tell which TLS socket belongs to which connection. Two open
   * connections to one listener cannot have the same.
   */
  readonly #newcomers = new Map<string, Newcomer>();
  readonly #authenticated = new WeakMap<TLSSocket, Member>();
  readonly #users = new Map<string, User>();
  #rejected = 0;
  #evicted = 0;

  constructor(limits: ConnectionLimits, { newId = shortId }: ConnectionTableModules = {}) {
    this.#limits = limits;
    this.names = new ConnectionNames({ process: newId() });
  }

  get open(): number {
    return this.#sockets.size;
  }
  get unauthenticated(): number {
    return this.#newcomers.size;
  }
  /** Connections that were closed when they arrived. */
  get rejected(): number {
    return this.#rejected;
  }
  /** Connections that were closed for others. */
  get evicted(): number {
    return this.#evicted;
  }

  /** Registers a TCP connection before its handshake. Returns false if a limit was reached and the socket is closed. */
  accept(socket: Socket): boolean {
    const client = clientOf(socket);
    // The client has already closed the connection.
    if (client === undefined) {
      socket.destroy();
      return false;
    }
    const name = sourceOf(socket.remoteAddress ?? '');
    if (!this.#makeRoom(name)) {
      this.#rejected++;
      socket.destroy();
      return false;
    }
    const position = this.#sockets.add(socket);
    const newcomer = this.#add(name, client, socket);
    socket.on('close', () => {
      position.remove();
      this.#forget(client, newcomer);
    });
    return true;
  }

  /** A request arrived through this connection; `response` emits `close` when it ends. */
  requestStarted(socket: TLSSocket, response: EventEmitter): void {
    const newcomer = this.#newcomerOf(socket);
    if (newcomer === undefined) return;
    this.#count(newcomer, 1);
    response.once('close', () => this.#count(newcomer, -1));
  }

  /** An authenticated request arrived through this connection. `user` empty: not of a single user. */
  markAuthenticated(socket: TLSSocket, user = ''): void {
    const known = this.#authenticated.get(socket);
    if (known !== undefined) {
      if (known.user !== undefined && known.user.name !== user) this.#leave(known);
      return;
    }
    const newcomer = this.#newcomerOf(socket);
    if (newcomer === undefined) return;
    const member: Member = { socket: newcomer.socket, user: undefined, place: undefined };
    this.#authenticated.set(socket, member);
    this.#forget(clientOf(socket) as string, newcomer);
    if (user !== '') this.#join(member, user);
  }

  #join(member: Member, name: string): void {
    let user = this.#users.get(name);
    if (user === undefined) {
      user = { name, members: new LinkedList() };
      this.#users.set(name, user);
    }
    member.user = user;
    member.place = user.members.add(member);
    member.socket.on('close', () => this.#leave(member));
    if (user.members.size > this.#limits.perUser) this.#evictOldestOf(user);
  }

  #leave(member: Member): void {
    const { user } = member;
    if (user === undefined) return;
    member.place?.remove();
    member.user = undefined;
    if (user.members.size === 0) this.#users.delete(user.name);
  }

  #evictOldestOf(user: User | undefined): boolean {
    const oldest = user?.members.first?.value;
    if (oldest === undefined) return false;
    this.#evicted++;
    this.#leave(oldest);
    oldest.socket.destroy();
    return true;
  }

  destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Closes at most one connection. Returns false if no place can be made. */
  #makeRoom(name: string): boolean {
    const { total, beforeAuthentication, beforeAuthenticationPerSource } = this.#limits;
    const own = this.#sources.get(name);
    if (own !== undefined && sizeOf(own) >= beforeAuthenticationPerSource) return this.#evict(own);
    if (this.#sockets.size < total && this.#newcomers.size < beforeAuthentication) return true;
    let largest: Source | undefined;
    for (const source of this.#sources.values())
      if (largest === undefined || sizeOf(source) > sizeOf(largest)) largest = source;
    return largest === undefined ? this.#evictAuthenticated() : this.#evict(largest);
  }

  #evictAuthenticated(): boolean {
    let largest: User | undefined;
    for (const user of this.#users.values()) if (user.members.size > (largest?.members.size ?? 1)) largest = user;
    return this.#evictOldestOf(largest);
  }

  #evict({ silent, busy }: Source): boolean {
    const newcomer = (silent.first ?? busy.first)?.value;
    if (newcomer === undefined) return false;
    this.#evicted++;
    // Frees the place now; `close` follows in a later iteration of the event loop.
    const client = clientOf(newcomer.socket);
    if (client !== undefined) this.#forget(client, newcomer);
    newcomer.socket.destroy();
    return true;
  }

  #add(name: string, client: string, socket: Socket): Newcomer {
    let source = this.#sources.get(name);
    if (source === undefined) {
      source = { name, silent: new LinkedList(), busy: new LinkedList() };
      this.#sources.set(name, source);
    }
    const newcomer: Newcomer = { socket, source, requests: 0, place: undefined };
    newcomer.place = source.silent.add(newcomer);
    this.#newcomers.set(client, newcomer);
    return newcomer;
  }

  #newcomerOf(socket: TLSSocket): Newcomer | undefined {
    if (this.#newcomers.size === 0 || socket.destroyed || this.#authenticated.has(socket)) return undefined;
    const client = clientOf(socket);
    return client === undefined ? undefined : this.#newcomers.get(client);
  }

  #count(newcomer: Newcomer, change: 1 | -1): void {
    const wasSilent = newcomer.requests === 0;
    newcomer.requests += change;
    const isSilent = newcomer.requests === 0;
    if (newcomer.place === undefined || wasSilent === isSilent) return;
    newcomer.place.remove();
    newcomer.place = (isSilent ? newcomer.source.silent : newcomer.source.busy).add(newcomer);
  }

  /** Removes a connection from those without authentication; further calls have no effect. */
  #forget(client: string, newcomer: Newcomer): void {
    if (newcomer.place === undefined) return;
    newcomer.place.remove();
    newcomer.place = undefined;
    this.#newcomers.delete(client);
    const { source } = newcomer;
    if (sizeOf(source) === 0) this.#sources.delete(source.name);
  }
}

const clientOf = ({ remoteAddress, remotePort }: Socket): string | undefined =>
  remoteAddress === undefined || remotePort === undefined ? undefined : `${remoteAddress} ${remotePort}`;

/** An IPv4 address, also one in IPv6 notation, or the first 64 bits of an IPv6 address: what one customer gets. */
function sourceOf(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? [];
  const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [groups, after] = [groupsOf(head), groupsOf(tail ?? '')];
  const omitted = Array.from({ length: 8 - groups.length - after.length }, () => '0');
  return `${[...groups, ...omitted, ...after].slice(0, 4).join(':')}::/64`;
}

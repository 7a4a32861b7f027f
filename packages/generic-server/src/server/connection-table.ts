import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { LinkedList } from '@multiplane/component-base';

export interface ConnectionLimits {
  /** Connections that have not made one authenticated request yet. */
  readonly beforeAuthentication: number;
  /** All connections. */
  readonly total: number;
}

export const defaultConnectionLimits: ConnectionLimits = { beforeAuthentication: 2_000, total: 50_000 };

/**
 * Counts connections so that strangers cannot take all of them (etcd CVE-2026-73500): a connection belongs to a stranger
 * until {@link authenticated} was called for it. A new one beyond a limit is closed before its handshake, which costs
 * next to nothing; those limits never touch connections that have authenticated.
 */
export class ConnectionTable {
  readonly #limits: ConnectionLimits;
  readonly #sockets = new LinkedList<Socket>();
  readonly #known = new WeakSet<TLSSocket>();
  #knownCount = 0;
  #refused = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get open(): number {
    return this.#sockets.size;
  }
  get strangers(): number {
    return this.#sockets.size - this.#knownCount;
  }
  get refused(): number {
    return this.#refused;
  }

  /** A TCP connection before its handshake; false: it was closed at once. */
  accept(socket: Socket): boolean {
    if (this.#sockets.size >= this.#limits.total || this.strangers >= this.#limits.beforeAuthentication) {
      this.#refused++;
      socket.destroy();
      return false;
    }
    const place = this.#sockets.add(socket);
    socket.on('close', () => place.remove());
    return true;
  }

  /** Somebody known made a request through this connection. */
  authenticated(socket: TLSSocket): void {
    if (this.#known.has(socket) || socket.destroyed) return;
    this.#known.add(socket);
    this.#knownCount++;
    socket.on('close', () => this.#knownCount--);
  }

  destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

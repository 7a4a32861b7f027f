import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { LinkedList } from '@multiplane/component-base';

export interface ConnectionLimits {
  /** Connections without an authenticated request. */
  readonly beforeAuthentication: number;
  /** All connections. */
  readonly total: number;
}

export const defaultConnectionLimits: ConnectionLimits = { beforeAuthentication: 2_000, total: 50_000 };

/**
 * Limits connections, so that unauthenticated clients cannot exhaust them (compare etcd CVE-2026-73500). A connection
 * counts as unauthenticated until {@link markAuthenticated} is called for it. A new connection above a limit is closed
 * before its TLS handshake; authenticated connections are never closed.
 */
export class ConnectionTable {
  readonly #limits: ConnectionLimits;
  readonly #sockets = new LinkedList<Socket>();
  readonly #authenticated = new WeakSet<TLSSocket>();
  #authenticatedCount = 0;
  #rejected = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  get open(): number {
    return this.#sockets.size;
  }
  get unauthenticated(): number {
    return this.#sockets.size - this.#authenticatedCount;
  }
  get rejected(): number {
    return this.#rejected;
  }

  /** Registers a TCP connection before its handshake. Returns false if a limit was reached and the socket is closed. */
  accept(socket: Socket): boolean {
    if (this.#sockets.size >= this.#limits.total || this.unauthenticated >= this.#limits.beforeAuthentication) {
      this.#rejected++;
      socket.destroy();
      return false;
    }
    const position = this.#sockets.add(socket);
    socket.on('close', () => position.remove());
    return true;
  }

  /** An authenticated request arrived through this connection. */
  markAuthenticated(socket: TLSSocket): void {
    if (this.#authenticated.has(socket) || socket.destroyed) return;
    this.#authenticated.add(socket);
    this.#authenticatedCount++;
    socket.on('close', () => this.#authenticatedCount--);
  }

  destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

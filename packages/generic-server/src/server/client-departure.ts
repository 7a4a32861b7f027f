import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '@multiplane/component-base';

/** Time until the first check; it doubles with each further one. */
const firstIntervalMs = 100;
const maxIntervalMs = 10_000;

export interface ClientDepartureModules {
  readonly socket: Socket;
  readonly clock: Clock;
  /** The response that the client waits for; undefined: none. */
  readonly current: () => ServerResponse | undefined;
}

/**
 * Finds out whether a client that ended its side of a connection still reads. Clients that leave and clients that only have
 * nothing more to send look the same, but only the host of the latter accepts what it is sent; the other resets the
 * connection, which ends the request.
 *
 * While a response has not started, an interim response asks for that. A response that is being written asks by itself. One
 * that has started and stays silent, such as a watch, ends: its client cannot be told apart from one that has left.
 */
export class ClientDeparture {
  readonly #modules: ClientDepartureModules;
  #intervalMs = firstIntervalMs;
  #timer: Timer | undefined;
  #written: number | undefined;

  constructor(modules: ClientDepartureModules) {
    this.#modules = modules;
    modules.socket.once('close', () => this.#timer?.cancel());
  }

  /** Call it when the client has ended its side. */
  check(): void {
    const { socket, clock, current } = this.#modules;
    const response = current();
    if (response === undefined || socket.destroyed) return;
    const isFirst = this.#written === undefined;
    const isSilent = this.#written === socket.bytesWritten && response.writableLength === 0;
    this.#written = socket.bytesWritten;
    if (response.headersSent) {
      if (isSilent && !response.writableEnded) {
        socket.destroy();
        return;
      }
    } else if (!isFirst && response.req.httpVersion === '1.1') {
      // Clients skip it; some take any other interim response for the response.
      response.writeContinue();
    }
    this.#timer = clock.after(this.#intervalMs, () => this.check());
    this.#intervalMs = Math.min(this.#intervalMs * 2, maxIntervalMs);
  }
}

import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { TimeSlicedQueue, type Clock, type EventLoopScheduler } from '@multiplane/component-base';

/** How long a client may send nothing after its handshake before its session is created. */
const firstBytesTimeoutMs = 1_000;
const ignore = (): void => undefined;

export interface ConnectionPacerModules {
  readonly clock: Clock;
  readonly scheduler: EventLoopScheduler;
  /** True once the server stops and has closed the connections that it knows to be idle. */
  readonly isStopping: () => boolean;
}

/**
 * Spreads the start and the end of connections over event-loop iterations, so that thousands of them at the same time do
 * not delay the requests of others.
 *
 * Three steps of a connection are paced, because Node would run each of them for all connections in one iteration: the
 * handshake (the whole accept backlog), the creation of the session (it reads everything that is in the socket, possibly a
 * hundred requests), and the teardown (it ends all streams of a session). Data that clients send meanwhile stays in their
 * sockets.
 */
export class ConnectionPacer {
  readonly #clock: Clock;
  readonly #isStopping: () => boolean;
  readonly #queue: TimeSlicedQueue;

  constructor({ clock, scheduler, isStopping }: ConnectionPacerModules) {
    this.#clock = clock;
    this.#isStopping = isStopping;
    this.#queue = new TimeSlicedQueue(scheduler);
  }

  /**
   * Detaches the current listeners of an event that carries a new socket, and returns a function that passes a socket to
   * them through the queue. `beforeDelivery` runs immediately before they do.
   */
  deferEvent<S extends Socket>(
    server: EventEmitter,
    event: string,
    beforeDelivery?: (socket: S) => void,
  ): (socket: S) => void {
    const listeners = server.listeners(event);
    server.removeAllListeners(event);
    return (socket) => {
      // A connection that breaks before delivery must not raise an uncaught error.
      socket.on('error', ignore);
      this.#queue.add(() => {
        socket.removeListener('error', ignore);
        if (socket.destroyed) return;
        beforeDelivery?.(socket);
        for (const listener of listeners) Reflect.apply(listener, server, [socket]);
      });
    };
  }

  /**
   * Calls `start` once the client has sent its first bytes. Clients of both protocols speak first, mostly with all their
   * requests, so the session is created with those in hand. A silent client gets a session after a timeout as well,
   * because the session is what closes idle connections.
   */
  awaitFirstBytes(socket: TLSSocket, start: (socket: TLSSocket) => void): void {
    socket.on('error', ignore);
    const proceed = (): void => {
      timeout.cancel();
      socket.removeListener('readable', proceed);
      socket.removeListener('close', proceed);
      start(socket);
      socket.removeListener('error', ignore);
    };
    const timeout = this.#clock.after(firstBytesTimeoutMs, () => {
      if (this.#isStopping()) socket.destroy();
      proceed();
    });
    socket.on('readable', proceed);
    socket.on('close', proceed);
  }

  /**
   * Passes `error` and `close` of a socket to its listeners through the queue, so that the streams of many broken
   * connections end over several iterations. Until then a session writes into a closed socket, which is harmless.
   */
  deferTeardown(socket: TLSSocket): void {
    for (const event of ['error', 'close'] as const) {
      const listeners = socket.rawListeners(event);
      socket.removeAllListeners(event);
      socket.on(event, (...args: unknown[]) => {
        this.#queue.add(() => {
          for (const listener of listeners) Reflect.apply(listener, socket, args);
        });
      });
    }
  }
}

import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { EventLoopScheduler, TimeSlicedQueue, type Clock } from '@multiplane/component-base';

/** How long a client may send nothing after its handshake before its session is created. */
const firstBytesTimeoutMs = 1_000;
/** Milliseconds that steps of connections may take of one iteration of the event loop, whatever requests take. */
const sliceMs = 5;
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
 *
 * Each step is a lane per source address: a client whose handshake is complete waits neither for the handshakes of thousands
 * of others nor for the teardown of those before.
 */
export class ConnectionPacer {
  readonly #clock: Clock;
  readonly #isStopping: () => boolean;
  readonly #scheduler: EventLoopScheduler;
  readonly #queue: TimeSlicedQueue;

  constructor({ clock, scheduler, isStopping }: ConnectionPacerModules) {
    this.#clock = clock;
    this.#isStopping = isStopping;
    this.#scheduler = new EventLoopScheduler(scheduler, { sliceMs });
    this.#queue = new TimeSlicedQueue(this.#scheduler);
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
      const { remoteAddress } = socket;
      // A connection that breaks before delivery must not raise an uncaught error.
      socket.on('error', ignore);
      this.#run(() => {
        socket.removeListener('error', ignore);
        if (socket.destroyed) return;
        beforeDelivery?.(socket);
        for (const listener of listeners) Reflect.apply(listener, server, [socket]);
      }, `${event} ${remoteAddress}`);
    };
  }

  /** Runs a step now if this iteration has time left for connections and none waits. */
  #run(step: () => void, lane: string): void {
    this.#scheduler.startSlice();
    if (this.#queue.isEmpty && this.#scheduler.hasTimeLeft) step();
    else this.#queue.add(step, lane);
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
    const { remoteAddress } = socket;
    for (const event of ['error', 'close'] as const) {
      const listeners = socket.rawListeners(event);
      socket.removeAllListeners(event);
      socket.on(event, (...args: unknown[]) => {
        this.#run(() => {
          for (const listener of listeners) Reflect.apply(listener, socket, args);
        }, `teardown ${remoteAddress}`);
      });
    }
  }
}

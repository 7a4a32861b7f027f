import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { TurnQueue, type Clock, type TurnTime } from '@multiplane/component-base';

/** So long a client may say nothing after its handshake before its session exists. */
const silenceMs = 1_000;
const ignore = (): void => undefined;

export interface ConnectionTurnsModules {
  readonly clock: Clock;
  readonly time: TurnTime;
  /** The server stops: it has let go of what it knew to be idle. */
  readonly isStopping: () => boolean;
}

/**
 * Spreads connections that come and go over turns of the event loop: thousands of them at once must not keep those that
 * stay from their answers.
 *
 * A connection has three moments in which node does all of it in one turn, for all connections, and each waits for its turn
 * here: its handshake (all of the backlog is accepted in one turn), its session (which reads whatever lies in the
 * socket, and a client may have sent a hundred requests before it exists), and its end (all streams of a session end
 * with it). What clients send meanwhile lies in their sockets.
 */
export class ConnectionTurns {
  readonly #clock: Clock;
  readonly #isStopping: () => boolean;
  readonly #queue: TurnQueue;

  constructor({ clock, time, isStopping }: ConnectionTurnsModules) {
    this.#clock = clock;
    this.#isStopping = isStopping;
    this.#queue = new TurnQueue(time);
  }

  /**
   * Takes an event of new sockets from those who listen to it now: each socket is handed to them in its turn, by the
   * function that this gives back. `onTurn` is called right before.
   */
  takeEvent<S extends Socket>(server: EventEmitter, event: string, onTurn?: (socket: S) => void): (socket: S) => void {
    const listeners = server.listeners(event);
    server.removeAllListeners(event);
    return (socket) => {
      // Until somebody else listens a broken connection would be an uncaught error.
      socket.on('error', ignore);
      this.#queue.add(() => {
        socket.removeListener('error', ignore);
        if (socket.destroyed) return;
        onTurn?.(socket);
        for (const listener of listeners) Reflect.apply(listener, server, [socket]);
      });
    };
  }

  /**
   * Clients of both protocols speak first, mostly at once and with all their requests: a session begins with those in
   * hand, so that they have its turn. Somebody who stays silent gets it as well: it is what ends connections on which
   * nothing happens.
   */
  whenItSpeaks(socket: TLSSocket, begin: (socket: TLSSocket) => void): void {
    socket.on('error', ignore);
    const speaks = (): void => {
      silence.cancel();
      socket.removeListener('readable', speaks);
      socket.removeListener('close', speaks);
      begin(socket);
      socket.removeListener('error', ignore);
    };
    const silence = this.#clock.after(silenceMs, () => {
      if (this.#isStopping()) socket.destroy();
      speaks();
    });
    socket.on('readable', speaks);
    socket.on('close', speaks);
  }

  /**
   * When many connections break their streams end over several turns. Until then a session writes into a socket that is
   * gone, as it does in the moment before it learns of it.
   */
  breakInTurn(socket: TLSSocket): void {
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

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

/**
 * Ports that connections to others do not come from: Linux takes those from 32768 on (ip_local_port_range), and one of
 * them would have a port in the moment between its being picked and its server's start.
 */
const lowest = 10_000;
const beyond = 32_768;

/**
 * Ports on 127.0.0.1 that nobody listens on. All are held at the same time while they are picked, so they differ;
 * another process may still take one before its user does, and whoever starts a server must be ready to try again.
 */
export async function freePorts(count: number): Promise<number[]> {
  const listeners = await Promise.all(Array.from({ length: count }, listenSomewhere));
  const ports = listeners.map((listener) => (listener.address() as AddressInfo).port);
  await Promise.all(listeners.map((listener) => new Promise((resolve) => listener.close(resolve))));
  return ports;
}

async function listenSomewhere(): Promise<Server> {
  for (let attempt = 1; ; attempt++) {
    const listener = createServer().listen(randomInt(lowest, beyond), '127.0.0.1');
    try {
      await once(listener, 'listening');
      return listener;
    } catch (error) {
      if (attempt === 100) throw new Error('no port is free', { cause: error });
    }
  }
}

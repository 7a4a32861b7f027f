import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * Ports on 127.0.0.1 that nobody listens on. All are held at the same time while they are picked, so they differ;
 * another process may still take one before its user does, and whoever starts a server must be ready to try again.
 */
export async function freePorts(count: number): Promise<number[]> {
  const listeners = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(listeners.map((listener) => once(listener, 'listening')));
  const ports = listeners.map((listener) => (listener.address() as AddressInfo).port);
  await Promise.all(listeners.map((listener) => new Promise((resolve) => listener.close(resolve))));
  return ports;
}

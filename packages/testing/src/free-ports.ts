import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * Distinct free ports on 127.0.0.1. Another process may take one before the caller does, which must retry with other ports
 * then.
 */
export async function freePorts(count: number): Promise<number[]> {
  const listeners = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(listeners.map((listener) => once(listener, 'listening')));
  const ports = listeners.map((listener) => (listener.address() as AddressInfo).port);
  await Promise.all(listeners.map((listener) => new Promise((resolve) => listener.close(resolve))));
  return ports;
}

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below the ports that Linux gives to outgoing connections, which would take a port before its server starts. */
const range = { first: 12_000, end: 32_000 };

/**
 * Distinct free ports on 127.0.0.1. Another process may take one before the caller does, which must retry with other ports
 * then.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Map<number, Server>();
  while (ports.size < count) {
    const port = randomInt(range.first, range.end);
    const listener = ports.has(port) ? undefined : await listenOn(port);
    if (listener !== undefined) ports.set(port, listener);
  }
  await Promise.all(Array.from(ports.values(), (listener) => new Promise((resolve) => listener.close(resolve))));
  return [...ports.keys()];
}

/** Undefined when the port is taken. */
async function listenOn(port: number): Promise<Server | undefined> {
  const listener = createServer();
  listener.listen(port, '127.0.0.1');
  try {
    await once(listener, 'listening');
    return listener;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}

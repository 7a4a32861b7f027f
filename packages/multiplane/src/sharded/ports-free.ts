import { once } from 'node:events';
import { createServer } from 'node:net';
import { errorText } from '@multiplane/apimachinery';
import { retry, type Clock } from '@multiplane/component-base';

/**
 * Resolves when all ports of an address are free, or the signal aborts. Throws an Error that names the port and the process that needs
 * it after `timeout` milliseconds.
 */
export async function portsFree(
  options: {
    readonly host: string;
    /** Ports by the process that needs them. */
    readonly ports: ReadonlyMap<string, number>;
    readonly timeout: number;
  },
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const deadline = clock.monotonic() + options.timeout;
  for (const [name, port] of options.ports) {
    const retryable = (): boolean => clock.monotonic() < deadline;
    try {
      await retry(() => listenOnce(options.host, port), { initial: 100, max: 1000, signal, retryable }, { clock });
    } catch (cause) {
      if (signal.aborted) return;
      throw new Error(
        `port ${port}, which ${name} needs, cannot be used: ${errorText(cause)}: stop what uses it, or name another --secure-port`,
        { cause },
      );
    }
  }
}

async function listenOnce(host: string, port: number): Promise<void> {
  const listener = createServer();
  listener.listen(port, host);
  await once(listener, 'listening');
  listener.close();
  await once(listener, 'close');
}

import { isIPv6 } from 'node:net';
import type { Clock, Logger, MetricsRegistry, Runnable } from '@multiplane/component-base';
import type { BaseExchange } from '@multiplane/generic-server';
import { basePath } from './base-path.ts';
import type { ConsoleBackend } from './console-backend.ts';
import type { ConsoleOptions } from './options.ts';

/** What the console needs of the server in whose process it runs. */
export interface ConsoleHost {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly externalUrl: () => string;
  /** The listener of this process, and its certificate (PEM). */
  readonly listener: () => { readonly address: string; readonly port: number; readonly certificatePem: string };
  /** PEM. */
  readonly rootCa: () => string;
}

/** The console in the process of a shard. Nothing of it is loaded before its first request. */
export function embedConsole(options: ConsoleOptions & { readonly version: string }): (host: ConsoleHost) => {
  readonly pathPrefix: string;
  readonly runnables: readonly Runnable[];
  handle(exchange: BaseExchange): Promise<void>;
} {
  return (host) => {
    let backend: Promise<ConsoleBackend> | undefined;
    const load = async (): Promise<ConsoleBackend> => {
      const [{ ConsoleBackend }, { readConsoleConfiguration }, { browserFolder }] = await Promise.all([
        import('./console-backend.ts'),
        import('./console-configuration.ts'),
        import('./browser-folder.ts'),
      ]);
      const { consoleConfigFile } = options;
      return new ConsoleBackend(
        {
          ...options,
          profile: 'all-in-one',
          issuers: consoleConfigFile === undefined ? [] : readConsoleConfiguration(consoleConfigFile),
          browserFolder: browserFolder(),
        },
        {
          ...host,
          version: options.version,
          server: () => {
            const { address, port, certificatePem } = host.listener();
            return { url: `https://${loopbackOf(address)}:${port}`, ca: certificatePem, isPinned: true };
          },
          external: () => ({ url: new URL(host.externalUrl()).origin, ca: host.rootCa() }),
        },
      );
    };
    return {
      pathPrefix: basePath,
      runnables: [
        {
          name: 'console',
          start: () => Promise.resolve(),
          stop: async () => (await backend?.catch(() => undefined))?.close(),
        },
      ],
      handle: async (exchange) => {
        let loaded;
        try {
          loaded = await (backend ??= load());
        } catch (error) {
          backend = undefined;
          host.logger.error('failed to load the console', { error });
          exchange.setHeader('content-type', 'text/plain; charset=utf-8');
          exchange.respond(503, 'The console cannot be loaded; the log of the server says why.\n');
          return;
        }
        await loaded.handle(exchange);
      },
    };
  };
}

/** Where a listener on `address` is reached from its own process. */
const loopbackOf = (address: string): string =>
  address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '[::1]' : isIPv6(address) ? `[${address}]` : address;

import { defaultCacheControl } from '../filters/cache-control.ts';
import type { Exchange, UpgradedConnection } from './exchange.ts';
import { ExchangeDecorator } from './exchange-decorator.ts';

/**
 * An exchange whose response comes from another server behind this one. The proxies of kcp add the `Cache-Control` of that
 * server to their own, so clients see the header twice; caches read both as one. Here, the header of the inner request
 * would replace the first.
 */
export class ProxiedExchange extends ExchangeDecorator {
  readonly takeConnection?: () => UpgradedConnection;

  constructor(exchange: Exchange) {
    // Wraps the exchange below compression: a handler that compresses does so itself.
    super(exchange.direct ?? exchange);
    const { inner } = this;
    if (inner.takeConnection !== undefined) this.takeConnection = () => (inner as Required<Exchange>).takeConnection();
  }

  /** Itself, so that no handler bypasses it. */
  override get direct(): Exchange {
    return this;
  }

  override setHeader(name: string, value: string | readonly string[]): void {
    this.inner.setHeader(name, name === 'cache-control' ? [defaultCacheControl, ...[value].flat()] : value);
  }
}

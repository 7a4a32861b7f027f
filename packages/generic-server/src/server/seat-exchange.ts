import type { FlowController } from '../flow-control/flow-controller.ts';
import type { FlowTicket } from '../flow-control/flow-ticket.ts';
import type { Exchange } from './exchange.ts';
import { ExchangeDecorator } from './exchange-decorator.ts';

/**
 * The exchange of a request that occupies seats only while the server works for it: not while its body arrives, and not while
 * the client reads the response. Otherwise clients that stop sending or reading would occupy all seats.
 */
export class SeatExchange extends ExchangeDecorator {
  readonly #controller: FlowController;
  readonly #ticket: FlowTicket;
  readonly #request: { readonly signal: AbortSignal };

  /** `request`: the signal aborts when the client disconnects or the deadline is exceeded. */
  constructor(
    inner: Exchange,
    modules: { readonly controller: FlowController; readonly request: { readonly signal: AbortSignal } },
    ticket: FlowTicket,
  ) {
    super(inner);
    this.#controller = modules.controller;
    this.#request = modules.request;
    this.#ticket = ticket;
  }

  /** Resolves once the request has its seats. Throws a TooManyRequestsError if it does not get them. */
  override async readBody(limit: number): Promise<Buffer> {
    const body = await this.inner.readBody(limit);
    this.#controller.widen(this.#ticket, body.length);
    const wait = this.#controller.acquire(this.#ticket, this.#request);
    if (wait !== undefined) await wait;
    return body;
  }

  override async drained(): Promise<void> {
    if (this.#ticket.state !== 'executing') return this.inner.drained();
    this.#controller.pause(this.#ticket);
    await this.inner.drained();
    await this.#controller.resume(this.#ticket, this.#request);
  }
}

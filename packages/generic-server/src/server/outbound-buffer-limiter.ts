import { LinkedList, type ListElement } from '@multiplane/component-base';

/** A response with bytes that the client has not accepted yet. */
export interface PendingResponse {
  /** Set by the {@link OutboundBufferLimiter} only. */
  pending: PendingBytes | undefined;
  /** The user to whose limit the bytes count; absent or empty: only to the limit of all. */
  readonly owner?: string | undefined;
  /** Closes the response immediately and releases its buffers. */
  terminate(): void;
}

/** The account of one {@link PendingResponse}. */
export interface PendingBytes {
  readonly bytes: number;
  readonly position: ListElement<PendingResponse>;
  readonly account: Account | undefined;
  /** The place among the responses of the same owner. */
  readonly ownPosition: ListElement<PendingResponse> | undefined;
}

/** The responses of one owner, least recently read first. */
interface Account {
  readonly owner: string;
  readonly pending: LinkedList<PendingResponse>;
  bytes: number;
}

/**
 * Limits the bytes that are buffered for slow clients, over many responses together and over those of one owner. Each
 * response has a limit of its own already, but one tenant can open thousands of them.
 *
 * Responses are ordered by the time at which their client last accepted bytes. Above the limit, the responses at the front
 * of that order are terminated: clients that read, however slowly, move to the end, and clients that never read reach the
 * front. No writer waits, so slow clients do not delay the others.
 */
export class OutboundBufferLimiter {
  readonly #max: number;
  readonly #maxPerOwner: number;
  readonly #accounts = new Map<string, Account>();
  /** Least recently read first. */
  readonly #pending = new LinkedList<PendingResponse>();
  #total = 0;

  constructor(options: { readonly max: number; readonly maxPerOwner?: number | undefined }) {
    this.#max = options.max;
    this.#maxPerOwner = options.maxPerOwner ?? options.max;
  }

  get total(): number {
    return this.#total;
  }

  /** Adds buffered bytes to a response. May terminate responses, the given one included. */
  add(response: PendingResponse, bytes: number): void {
    const { pending } = response;
    const account = pending === undefined ? this.#accountOf(response) : pending.account;
    response.pending = {
      bytes: (pending?.bytes ?? 0) + bytes,
      position: pending?.position ?? this.#pending.add(response),
      account,
      ownPosition: pending === undefined ? account?.pending.add(response) : pending.ownPosition,
    };
    this.#total += bytes;
    if (account !== undefined) {
      account.bytes += bytes;
      while (account.bytes > this.#maxPerOwner) if (!this.#terminateFirst(account.pending)) break;
    }
    while (this.#total > this.#max) if (!this.#terminateFirst(this.#pending)) break;
  }

  #accountOf({ owner = '' }: PendingResponse): Account | undefined {
    if (owner === '') return undefined;
    let account = this.#accounts.get(owner);
    if (account === undefined) {
      account = { owner, pending: new LinkedList(), bytes: 0 };
      this.#accounts.set(owner, account);
    }
    return account;
  }

  #terminateFirst(responses: LinkedList<PendingResponse>): boolean {
    const leastRecentlyRead = responses.first?.value;
    if (leastRecentlyRead === undefined) return false;
    this.release(leastRecentlyRead);
    leastRecentlyRead.terminate();
    return true;
  }

  /** The client accepted bytes; `remaining` are still buffered. */
  accepted(response: PendingResponse, remaining: number): void {
    this.release(response);
    if (remaining > 0) this.add(response, remaining);
  }

  /** The client accepted everything, or the response is closed. */
  release(response: PendingResponse): void {
    const { pending } = response;
    if (pending === undefined) return;
    const { account } = pending;
    pending.position.remove();
    pending.ownPosition?.remove();
    response.pending = undefined;
    this.#total -= pending.bytes;
    if (account === undefined) return;
    account.bytes -= pending.bytes;
    if (account.pending.size === 0) this.#accounts.delete(account.owner);
  }
}

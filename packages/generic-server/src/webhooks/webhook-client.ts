import { lookup as lookupName } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { caBundleProblem } from '@multiplane/apis';
import { goNetworkError } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import type { AddressPolicy } from './address-policy.ts';
import { responseFailure } from './response-failure.ts';

/** An address as a resolver gives it. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface WebhookClientOptions {
  /** Calls under way at the same time, over all webhooks, and for one tenant. */
  readonly maxCalls?: number | undefined;
  readonly maxTenantCalls?: number | undefined;
  /** Connections to one webhook. */
  readonly maxSockets?: number | undefined;
}

export interface WebhookClientModules {
  readonly policy: AddressPolicy;
  readonly clock: Clock;
  /** All addresses of a name; the system's resolver when absent. */
  readonly resolve?: ((hostname: string) => Promise<readonly ResolvedAddress[]>) | undefined;
}

export interface WebhookCall {
  /** Whose webhook it is: nobody's slow webhooks may keep those of others from being called. */
  readonly tenant: string;
  /** Complete, https. It is what messages show. */
  readonly url: string;
  /** PEM; absent: the usual authorities. */
  readonly caBundle?: string | undefined;
  /** Absent: nothing is sent, a document is asked for (GET). */
  readonly body?: Buffer | string | undefined;
  readonly timeoutMs: number;
  /** What a call is said to have died of when its time is over. */
  readonly timeoutText: string;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  readonly maxResponseBytes: number;
}

/** A webhook that could not be asked, or gave no usable answer. The message is meant for the client. */
export class WebhookCallError extends Error {
  override readonly name = 'WebhookCallError';
}

/** The authorities of a webhook cannot be read: nothing was called. */
export class WebhookAuthorityError extends Error {
  override readonly name = 'WebhookAuthorityError';
}

const idleMs = 30_000;
const maxAuthorities = 256;

/**
 * Calls webhooks that tenants name: POST of a JSON document over HTTPS, or GET of one, the answer whole.
 *
 * What a tenant writes into a URL must not become a key to the server's own network:
 *  - a name is resolved once per connection, each address is judged, and the connection is made to one that passed; kept
 *    connections lead to the same address as before, so a name that changes its mind changes nothing;
 *  - redirects are failures, whatever they point to; no credentials and no headers of the client are ever sent;
 *  - no proxy of the environment is used; the certificate must be the webhook's, by its authorities or the usual ones.
 * Bounded: calls under way, in all and of one tenant, connections per webhook, time, and the answer, which is cut off where it becomes too long.
 */
export class WebhookClient {
  readonly #maxCalls: number;
  readonly #maxTenantCalls: number;
  readonly #modules: WebhookClientModules;
  readonly #agent: Agent;
  #calls = 0;
  readonly #callsByTenant = new Map<string, number>();
  /** Bundles that were read without fault, the latest last. */
  readonly #authorities = new Set<string>();

  constructor(options: WebhookClientOptions, modules: WebhookClientModules) {
    this.#maxCalls = options.maxCalls ?? 1024;
    this.#maxTenantCalls = options.maxTenantCalls ?? 64;
    this.#modules = modules;
    // One pool: connections are told apart by host, port and authorities.
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: options.maxSockets ?? 16,
      maxFreeSockets: 2,
      timeout: idleMs,
      scheduling: 'lifo',
    });
  }

  /** The body of a successful answer. Throws {@link WebhookCallError}, or {@link WebhookAuthorityError} for a bad `caBundle`. */
  post(call: WebhookCall & { readonly body: Buffer | string }): Promise<Buffer> {
    return this.#call(call, 'Post');
  }

  /** The document at a URL, by the same rules. */
  get(call: Omit<WebhookCall, 'body'>): Promise<Buffer> {
    return this.#call(call, 'Get');
  }

  async #call(call: WebhookCall, verb: 'Get' | 'Post'): Promise<Buffer> {
    const fail = (text: string, cause?: unknown): WebhookCallError =>
      new WebhookCallError(`${verb} ${JSON.stringify(call.url)}: ${text}`, { cause });
    const url = new URL(call.url);
    const hostname = url.hostname.replace(/^\[|\]$/g, '');
    const destination = { hostname, port: url.port === '' ? '443' : url.port };
    if (call.caBundle !== undefined) this.#checkAuthorities(call.caBundle);
    if (isIP(hostname) !== 0 && !this.#modules.policy.allows(hostname)) throw fail(closedText(destination));
    const { tenant } = call;
    if (this.#calls >= this.#maxCalls || (this.#callsByTenant.get(tenant) ?? 0) >= this.#maxTenantCalls)
      throw fail('too many webhooks are being called, try again later');

    this.#count(tenant, 1);
    const ended = new AbortController();
    const timer = this.#modules.clock.after(call.timeoutMs, () => ended.abort(new Error(call.timeoutText)));
    const signal = AbortSignal.any([call.signal, ended.signal]);
    try {
      const response = await this.#openAgain(url, call, signal);
      const body = await readAll(response, call.maxResponseBytes);
      const code = response.statusCode ?? 0;
      if (code >= 200 && code <= 206) return body;
      throw new WebhookCallError(responseFailure(code, response.headers['content-type'] ?? '', body));
    } catch (error) {
      if (error instanceof WebhookCallError) throw error;
      if (ended.signal.aborted) throw fail(call.timeoutText, error);
      if (call.signal.aborted) throw fail('context canceled', error);
      if (error instanceof ClosedAddressError) throw fail(closedText(destination), error);
      if (error instanceof TooLongError) throw fail(error.message, error);
      throw fail(goNetworkError(error as Error, destination), error);
    } finally {
      timer.cancel();
      this.#count(tenant, -1);
    }
  }

  #count(tenant: string, change: number): void {
    this.#calls += change;
    const left = (this.#callsByTenant.get(tenant) ?? 0) + change;
    if (left === 0) this.#callsByTenant.delete(tenant);
    else this.#callsByTenant.set(tenant, left);
  }

  /** Ends what is under way and closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  /** A kept connection may have been closed by the other side in this very moment: then a fresh one is tried, once. */
  async #openAgain(url: URL, call: WebhookCall, signal: AbortSignal): Promise<IncomingMessage> {
    try {
      return await this.#open(url, call, signal);
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error;
      return this.#open(url, call, signal);
    }
  }

  #open(url: URL, call: WebhookCall, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest(
        url,
        {
          method: call.body === undefined ? 'GET' : 'POST',
          agent: this.#agent,
          signal,
          lookup: this.#lookup,
          ...(call.caBundle === undefined ? {} : { ca: call.caBundle }),
          headers: {
            accept: 'application/json, */*',
            ...(call.body === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(call.body) }),
            'user-agent': 'multiplane-webhook',
          },
        },
        resolve,
      );
      outgoing.on('error', (error: NodeJS.ErrnoException) =>
        reject(
          outgoing.reusedSocket && error.code === 'ECONNRESET' ? new StaleConnectionError('', { cause: error }) : error,
        ),
      );
      outgoing.end(call.body);
    });
  }

  #checkAuthorities(pem: string): void {
    if (this.#authorities.delete(pem)) {
      this.#authorities.add(pem);
      return;
    }
    const problem = caBundleProblem(pem);
    if (problem !== undefined) throw new WebhookAuthorityError(problem);
    this.#authorities.add(pem);
    if (this.#authorities.size > maxAuthorities)
      this.#authorities.delete(this.#authorities.values().next().value as string);
  }

  /** Called by a new connection: gives it addresses that passed, and fails when there is none. */
  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    const { resolve = systemResolve, policy } = this.#modules;
    /* eslint-disable promise/no-callback-in-promise -- a lookup of Node's sockets answers by callback */
    resolve(hostname).then(
      (addresses) => {
        const open = addresses.filter(({ address }) => policy.allows(address));
        const [first] = open;
        if (first === undefined) callback(new ClosedAddressError(hostname), '', 0);
        else if (options.all === true) callback(null, [...open]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
    /* eslint-enable promise/no-callback-in-promise */
  };
}

class ClosedAddressError extends Error {}
class StaleConnectionError extends Error {}
class TooLongError extends Error {}

const systemResolve = (hostname: string): Promise<readonly ResolvedAddress[]> => lookupName(hostname, { all: true });

const closedText = ({ hostname }: { readonly hostname: string }): string =>
  `dial tcp: the addresses of ${hostname} are not open to webhooks`;

async function readAll(response: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) {
      response.destroy();
      throw new TooLongError(`the answer exceeds ${limit} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

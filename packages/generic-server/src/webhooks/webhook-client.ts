import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { caBundleProblem } from '@multiplane/apimachinery';
import { goNetworkError } from '@multiplane/client';
import { traced, traceHeaders, type Clock } from '@multiplane/component-base';
import { LRUCache } from 'lru-cache';
import type { AddressPolicy } from './address-policy.ts';
import { DeniedAddressError, policyLookup, type ResolveName } from './policy-lookup.ts';
import { responseFailure } from './response-failure.ts';

export interface WebhookClientOptions {
  /** Maximum number of concurrent calls, in total and per tenant. */
  readonly maxCalls?: number | undefined;
  readonly maxTenantCalls?: number | undefined;
  /** Maximum number of connections to one webhook. */
  readonly maxSockets?: number | undefined;
}

export interface WebhookClientModules {
  readonly policy: AddressPolicy;
  readonly clock: Clock;
  /** Default: the resolver of the system. */
  readonly resolve?: ResolveName | undefined;
}

export interface WebhookCall {
  /** Owner of the webhook, for the limit per tenant: slow webhooks of one tenant must not block those of others. */
  readonly tenant: string;
  /** Complete https URL; error messages contain it. */
  readonly url: string;
  /** PEM; absent: the root certificates of the system. */
  readonly caBundle?: string | undefined;
  /** Absent for GET. */
  readonly body?: Buffer | string | undefined;
  readonly timeoutMs: number;
  /** Error text for a call that exceeds `timeoutMs`. */
  readonly timeoutText: string;
  /** Aborts the call. */
  readonly signal: AbortSignal;
  readonly maxResponseBytes: number;
}

/** The webhook could not be called, or its response is unusable. The message is intended for API clients. */
export class WebhookCallError extends Error {
  override readonly name = 'WebhookCallError';
}

/** The CA bundle of the webhook is invalid; it was not called. */
export class WebhookAuthorityError extends Error {
  override readonly name = 'WebhookAuthorityError';
}

const idleMs = 30_000;
const maxValidatedBundles = 256;

/**
 * Calls webhooks whose URLs tenants choose: POST or GET of a JSON document over HTTPS.
 *
 * Prevents server-side request forgery:
 *  - A name is resolved once per connection, the {@link AddressPolicy} checks each address, and the connection uses an address
 *    that passed. Kept connections stay with their address, so later changes of DNS records (rebinding) have no effect.
 *  - Redirects are failures. Credentials and headers of the API client are never sent.
 *  - Proxies of the environment are not used. The certificate is verified against the CA bundle or the system's roots.
 *
 * Limits: concurrent calls in total and per tenant, connections per webhook, duration, and size of the response.
 */
export class WebhookClient {
  readonly #maxCalls: number;
  readonly #maxTenantCalls: number;
  readonly #modules: WebhookClientModules;
  readonly #agent: Agent;
  #calls = 0;
  readonly #callsByTenant = new Map<string, number>();
  readonly #validatedBundles = new LRUCache<string, true>({ max: maxValidatedBundles });

  constructor(options: WebhookClientOptions, modules: WebhookClientModules) {
    this.#maxCalls = options.maxCalls ?? 1024;
    this.#maxTenantCalls = options.maxTenantCalls ?? 64;
    this.#modules = modules;
    // One pool for all webhooks: it distinguishes connections by host, port and CA bundle.
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: options.maxSockets ?? 16,
      maxFreeSockets: 2,
      timeout: idleMs,
      scheduling: 'lifo',
    });
  }

  /** Returns the body of a successful response. Throws {@link WebhookCallError}, or {@link WebhookAuthorityError} for an invalid `caBundle`. */
  post(call: WebhookCall & { readonly body: Buffer | string }): Promise<Buffer> {
    return traced('webhook call', () => this.#call(call, 'Post'));
  }

  /** Returns the document at a URL; errors as of {@link post}. */
  get(call: Omit<WebhookCall, 'body'>): Promise<Buffer> {
    return traced('webhook call', () => this.#call(call, 'Get'));
  }

  async #call(call: WebhookCall, verb: 'Get' | 'Post'): Promise<Buffer> {
    const fail = (text: string, cause?: unknown): WebhookCallError =>
      new WebhookCallError(`${verb} ${JSON.stringify(call.url)}: ${text}`, { cause });
    const url = new URL(call.url);
    const hostname = url.hostname.replace(/^\[|\]$/g, '');
    const destination = { hostname, port: url.port === '' ? '443' : url.port };
    if (call.caBundle !== undefined) this.#validateBundle(call.caBundle);
    if (isIP(hostname) !== 0 && !this.#modules.policy.allows(hostname)) throw fail(deniedText(destination));
    const { tenant } = call;
    if (this.#calls >= this.#maxCalls || (this.#callsByTenant.get(tenant) ?? 0) >= this.#maxTenantCalls)
      throw fail('too many webhooks are being called, try again later');

    this.#count(tenant, 1);
    const timeout = new AbortController();
    const timer = this.#modules.clock.after(call.timeoutMs, () => timeout.abort(new Error(call.timeoutText)));
    const signal = AbortSignal.any([call.signal, timeout.signal]);
    try {
      const response = await this.#openWithRetry(url, call, signal);
      const body = await readAll(response, call.maxResponseBytes);
      const code = response.statusCode ?? 0;
      if (code >= 200 && code <= 206) return body;
      throw new WebhookCallError(responseFailure(code, response.headers['content-type'] ?? '', body));
    } catch (error) {
      if (error instanceof WebhookCallError) throw error;
      if (timeout.signal.aborted) throw fail(call.timeoutText, error);
      if (call.signal.aborted) throw fail('context canceled', error);
      if (error instanceof DeniedAddressError) throw fail(deniedText(destination), error);
      if (error instanceof ResponseTooLargeError) throw fail(error.message, error);
      throw fail(goNetworkError(error as Error, destination), error);
    } finally {
      timer.cancel();
      this.#count(tenant, -1);
    }
  }

  #count(tenant: string, change: number): void {
    this.#calls += change;
    const calls = (this.#callsByTenant.get(tenant) ?? 0) + change;
    if (calls === 0) this.#callsByTenant.delete(tenant);
    else this.#callsByTenant.set(tenant, calls);
  }

  /** Aborts running calls and closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  /** Retries once on a new connection if a kept one was being closed by the webhook. */
  async #openWithRetry(url: URL, call: WebhookCall, signal: AbortSignal): Promise<IncomingMessage> {
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
          lookup: policyLookup(this.#modules),
          // As in Go, the CA bundle may be the serving certificate itself.
          ...(call.caBundle === undefined ? {} : { ca: call.caBundle, allowPartialTrustChain: true }),
          headers: {
            accept: 'application/json, */*',
            ...(call.body === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(call.body) }),
            'user-agent': 'multiplane-webhook',
            ...headersOf(traceHeaders()),
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

  #validateBundle(pem: string): void {
    if (this.#validatedBundles.get(pem) === true) return;
    const problem = caBundleProblem(pem);
    if (problem !== undefined) throw new WebhookAuthorityError(problem);
    this.#validatedBundles.set(pem, true);
  }
}

/** Names and values in turn. */
function headersOf(flat: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) headers[flat[i] as string] = flat[i + 1] as string;
  return headers;
}

class StaleConnectionError extends Error {}
class ResponseTooLargeError extends Error {}

const deniedText = ({ hostname }: { readonly hostname: string }): string =>
  `dial tcp: the addresses of ${hostname} are not open to webhooks; an administrator of the installation can open them by --webhook-allowed-networks`;

async function readAll(response: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) {
      response.destroy();
      throw new ResponseTooLargeError(`the answer exceeds ${limit} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

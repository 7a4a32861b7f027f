import { Etcd3, type IOptions, type LeaseClient, type MaintenanceClient } from 'etcd3';
import { setTimeout as delay } from 'node:timers/promises';
import { errorText } from '@multiplane/apimachinery';
import { traced, type Watched } from '@multiplane/component-base';
import { isStorageError, StorageUnavailableError } from '../errors.ts';
import { classify, isRevisionError, isTransient } from './etcd-errors.ts';
import {
  rangeMethod,
  txnMethod,
  type RangeRequest,
  type RangeResponse,
  type TxnRequest,
  type TxnResponse,
} from './transport/etcd-messages.ts';
import type { EtcdTls } from './transport/etcd-tls.ts';
import { GrpcSession } from './transport/grpc-session.ts';
import { unaryCall } from './transport/unary-call.ts';

export interface EtcdClientOptions {
  /** `http://host:port` or `https://host:port` of the members. */
  readonly endpoints: readonly string[];
  readonly tls: Watched<EtcdTls> | undefined;
  /** Milliseconds for which reads are retried, and for which the response of a write is awaited. */
  readonly requestTimeoutMs: number;
}

/** What a request does, in the terms of kube-apiserver's metrics; `other`: progress marker, compaction, health. */
export type EtcdOperation = 'get' | 'list' | 'create' | 'update' | 'delete' | 'other';

export interface EtcdClientModules {
  /** Called at the end of each request, retries of reads included. A comparison that did not hold is no failure. */
  readonly onRequest?: ((operation: EtcdOperation, seconds: number, failed: boolean) => void) | undefined;
}

/** Separate connections: a watch whose reader is slow does not block requests. */
interface Connections {
  /** Ranges and transactions. */
  readonly requests: GrpcSession;
  readonly watches: GrpcSession;
  /** Leases, maintenance and compaction. */
  readonly others: Etcd3;
}

const noRetry = { execute: async <T>(run: (context: object) => T | Promise<T>): Promise<T> => await run({}) };

const channel = {
  // Connections are not shared between the clients of this process.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.max_receive_message_length': 2 ** 31 - 1,
  'grpc.max_send_message_length': -1,
  // Detects dead peers. etcd closes connections with keepalive pings in less than 5 s.
  'grpc.keepalive_time_ms': 6000,
  'grpc.keepalive_timeout_ms': 4000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 1000,
};

/** Limits of the delay between two attempts. */
const firstPauseMs = 20;
const longestPauseMs = 500;

/**
 * Requests to etcd, each with a deadline. Ranges, transactions and watches, which are nearly all of them, go over
 * node:http2 with codecs of their own (docs/adr/0142-etcd-calls-over-http2.md); the others over the raw clients of
 * `etcd3`, whose retry policy repeats requests whose outcome is unknown and is switched off
 * (docs/adr/0007-etcd3-without-watcher-and-retries.md).
 *
 * Certificates apply to new connections. When they change, new requests use new connections; the old ones are closed after
 * the deadline of their requests, and watches reconnect.
 */
export class EtcdClient {
  readonly #options: EtcdClientOptions;
  readonly #onRequest: EtcdClientModules['onRequest'];
  #connections: Connections;
  readonly #timeoutMs: number;
  readonly #closed = new AbortController();

  constructor(options: EtcdClientOptions, { onRequest }: EtcdClientModules = {}) {
    this.#options = options;
    this.#onRequest = onRequest;
    this.#timeoutMs = options.requestTimeoutMs;
    this.#connections = this.#connect(options.tls?.current);
    options.tls?.onChange((tls) => this.#replace(tls));
  }

  #connect(tls: EtcdTls | undefined): Connections {
    const options = {
      hosts: [...this.#options.endpoints],
      grpcOptions: channel,
      faultHandling: { host: () => noRetry, global: noRetry },
      ...(tls !== undefined && {
        credentials: {
          rootCertificate: tls.authority,
          ...(tls.certificate !== undefined && { certChain: tls.certificate }),
          ...(tls.privateKey !== undefined && { privateKey: tls.privateKey }),
        },
      }),
    } as unknown as IOptions;
    const session = { endpoints: this.#options.endpoints, tls };
    return { requests: new GrpcSession(session), watches: new GrpcSession(session), others: new Etcd3(options) };
  }

  #replace(tls: EtcdTls): void {
    if (this.#closed.signal.aborted) return;
    const { requests, watches, others } = this.#connections;
    this.#connections = this.#connect(tls);
    // All requests on the old connections end by their deadline.
    void this.#pause(this.#timeoutMs).then(() => {
      requests.close();
      watches.close();
      others.close();
    });
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }
  /** The connection of watches. */
  get watches(): Pick<GrpcSession, 'open'> {
    return this.#connections.watches;
  }
  get lease(): LeaseClient {
    return this.#connections.others.leaseClient;
  }
  get maintenance(): MaintenanceClient {
    return this.#connections.others.maintenance;
  }

  /** Options of a request over `etcd3`. */
  deadline(ms = this.#timeoutMs): { readonly deadline: number } {
    return { deadline: Date.now() + ms };
  }

  range(request: RangeRequest, operation: EtcdOperation = 'get'): Promise<RangeResponse> {
    const run = (): Promise<RangeResponse> =>
      this.read((ms) => unaryCall(this.#connections.requests, rangeMethod, request, ms));
    return traced('etcd Range', () => this.#observed(operation, run));
  }

  /** A transaction that only reads, which may be retried. */
  readTransaction(request: TxnRequest): Promise<TxnResponse> {
    return this.#observed('list', () =>
      this.read((ms) => unaryCall(this.#connections.requests, txnMethod, request, ms)),
    );
  }

  /** A single attempt: a transaction that failed may have been carried out. */
  transaction(
    request: TxnRequest,
    operation: EtcdOperation = 'other',
    timeoutMs = this.#timeoutMs,
  ): Promise<TxnResponse> {
    this.assertOpen();
    const run = (): Promise<TxnResponse> => unaryCall(this.#connections.requests, txnMethod, request, timeoutMs);
    return traced('etcd Txn', () => this.#observed(operation, run));
  }

  compact(revision: number): Promise<unknown> {
    return this.#observed('other', () =>
      this.read((ms) => this.#connections.others.kv.compact({ revision, physical: false }, this.deadline(ms))),
    );
  }

  /**
   * Retries an idempotent request until it succeeds, is refused, or the request timeout has passed; `call` gets the
   * timeout of the attempt.
   */
  async read<T>(call: (timeoutMs: number) => Promise<T>): Promise<T> {
    const end = performance.now() + this.#timeoutMs;
    for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      this.assertOpen();
      const left = end - performance.now();
      try {
        // A hanging attempt leaves time for one on another connection or member.
        return await call(Math.max(left / 2, Math.min(left, 500)));
      } catch (error) {
        if (this.#closed.signal.aborted) throw new StorageUnavailableError('the store is closed', error);
        if (!isTransient(error)) throw refusal(error);
        if (performance.now() + pause >= end) {
          throw new StorageUnavailableError(`etcd does not respond: ${errorText(error)}`, error);
        }
        await this.#pause(pause);
      }
    }
  }

  assertOpen(): void {
    if (this.#closed.signal.aborted) throw new StorageUnavailableError('the store is closed');
  }

  close(): void {
    this.#closed.abort();
    this.#connections.requests.close();
    this.#connections.watches.close();
    this.#connections.others.close();
  }

  async #observed<T>(operation: EtcdOperation, run: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    let failed = true;
    try {
      const result = await run();
      failed = false;
      return result;
    } catch (error) {
      // An answer of etcd about the history that it keeps.
      failed = !isRevisionError(error);
      throw error;
    } finally {
      this.#onRequest?.(operation, (performance.now() - startedAt) / 1000, failed);
    }
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#closed.signal, ref: false }).catch(() => undefined);
  }
}

/** The error of a read that is not retried; callers interpret errors of revisions. */
function refusal(error: unknown): unknown {
  if (isRevisionError(error) || isStorageError(error)) return error;
  const failure = classify(error, '');
  return 'error' in failure
    ? failure.error
    : new StorageUnavailableError(`etcd refused the request: ${errorText(error)}`, error);
}

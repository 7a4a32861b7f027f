import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { UserInfo } from '@multiplane/apimachinery';
import type { AuditTrail } from '../audit/audit-trail.ts';
import type { Exchange, Headers, NodeMessages } from './exchange.ts';

/** An exchange that delegates to another one; subclasses override what they change. */
export class ExchangeDecorator implements Exchange {
  protected readonly inner: Exchange;

  constructor(inner: Exchange) {
    this.inner = inner;
  }

  get method(): string {
    return this.inner.method;
  }
  get url(): string {
    return this.inner.url;
  }
  get headers(): Headers {
    return this.inner.headers;
  }
  get httpVersion(): '1.1' | '2.0' {
    return this.inner.httpVersion;
  }
  get socket(): TLSSocket {
    return this.inner.socket;
  }
  get signal(): AbortSignal {
    return this.inner.signal;
  }
  get direct(): Exchange {
    return this.inner.direct ?? this.inner;
  }
  get compresses(): boolean | undefined {
    return this.inner.compresses;
  }
  get auditTrail(): AuditTrail | undefined {
    return this.inner.auditTrail;
  }
  get dispatchedUser(): UserInfo | undefined {
    return this.inner.dispatchedUser;
  }
  get status(): number {
    return this.inner.status;
  }
  get headersSent(): boolean {
    return this.inner.headersSent;
  }
  get buffered(): number {
    return this.inner.buffered;
  }

  chargeTo(owner: string): void {
    this.inner.chargeTo?.(owner);
  }
  readBody(limit: number): Promise<Buffer> {
    return this.inner.readBody(limit);
  }
  setHeader(name: string, value: string | readonly string[]): void {
    this.inner.setHeader(name, value);
  }
  respond(status: number, body: Buffer | string): void {
    this.inner.respond(status, body);
  }
  start(status: number): void {
    this.inner.start(status);
  }
  write(chunk: Buffer, done?: () => void): boolean {
    return this.inner.write(chunk, done);
  }
  drained(): Promise<void> {
    return this.inner.drained();
  }
  end(trailers?: readonly string[]): void {
    this.inner.end(trailers);
  }
  destroy(): void {
    this.inner.destroy();
  }
  upgradeToWebSocket(): void {
    this.inner.upgradeToWebSocket?.();
  }
  handOver(): NodeMessages {
    if (this.inner.handOver === undefined) throw new TypeError('this exchange has no node objects');
    return this.inner.handOver();
  }
  bodyStream(): Readable | undefined {
    return this.inner.bodyStream?.();
  }
}

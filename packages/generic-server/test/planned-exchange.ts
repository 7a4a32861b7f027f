// oxlint-disable tests/no-real-timers -- clients and handlers are slow on purpose; the outcome does not depend on how slow
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';
import type { BaseExchange, Exchange } from '@multiplane/generic-server';
import { acceptsGzip, GzipExchange } from '../src/server/gzip-exchange.ts';
import fc from 'fast-check';

/** A request, how its handler behaves, and what it responds with. */
export interface Plan {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT';
  /** Of the request. */
  readonly bodyBytes: number;
  readonly framing: 'length' | 'chunked';
  readonly expectsContinue: boolean;
  readonly acceptsGzip: boolean;
  /** `whole`: in one call; `list`: in chunks with back-pressure; `watch`: in lines; `refused`: 403 before the body is read. */
  readonly response: 'whole' | 'list' | 'watch' | 'refused';
  readonly responseBytes: number;
  /** When the handler starts: at once, in a later iteration of the event loop, or after a time. */
  readonly start: 'now' | 'immediate' | 'timer';
}

export const planned: fc.Arbitrary<Plan> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'HEAD', 'POST', 'POST', 'PUT'),
  bodyBytes: fc.constantFrom(0, 1, 700, 5_000, 16_384, 65_536, 300_000),
  framing: fc.constantFrom('length', 'chunked'),
  expectsContinue: fc.boolean(),
  acceptsGzip: fc.boolean(),
  response: fc.constantFrom('whole', 'whole', 'list', 'watch', 'refused'),
  responseBytes: fc.constantFrom(0, 1_024, 65_535, 65_536, 65_537, 90_000, 1_048_576),
  start: fc.constantFrom('now', 'immediate', 'timer'),
});

export const hasBody = ({ method }: Plan): boolean => method === 'POST' || method === 'PUT';

/** Bytes that compress badly enough for every path of compression. */
function bytesOf(id: string, length: number): Buffer {
  const block = createHash('sha512').update(id).digest('base64');
  return Buffer.from(block.repeat(Math.ceil(length / block.length)).slice(0, length));
}

/** Executes {@link Plan}s by their names, which are the paths of requests. */
export class PlannedHandler {
  readonly plans = new Map<string, Plan>();
  /** How often each was executed. */
  readonly executed = new Map<string, number>();

  readonly handle = async (raw: BaseExchange): Promise<void> => {
    const id = raw.url.slice(1);
    const plan = this.plans.get(id);
    if (plan === undefined) {
      raw.respond(404, `no plan ${id}`);
      return;
    }
    this.executed.set(id, (this.executed.get(id) ?? 0) + 1);
    if (plan.start === 'immediate') await immediate();
    if (plan.start === 'timer') await delay(2);
    const exchange: Exchange = acceptsGzip(raw.headers) && plan.response !== 'watch' ? new GzipExchange(raw) : raw;
    exchange.setHeader('x-plan', id);
    if (plan.response === 'refused') {
      exchange.respond(403, 'refused');
      return;
    }
    const received = await exchange.readBody(1_000_000);
    exchange.setHeader('x-received', String(received.equals(requestBody(id, plan)) || received.length));
    await respond(exchange, id, plan);
  };
}

async function respond(exchange: Exchange, id: string, { response, responseBytes }: Plan): Promise<void> {
  const body = bytesOf(id, responseBytes);
  if (response === 'whole') {
    exchange.respond(200, body);
    return;
  }
  exchange.start(200);
  const step = response === 'list' ? 50_000 : Math.ceil(body.length / 5);
  for (let at = 0; at < body.length; at += step) {
    if (!exchange.write(body.subarray(at, at + step))) await exchange.drained();
    if (response === 'watch') await immediate();
  }
  exchange.end();
}

/** What the client got, in the terms of {@link expectedOutcome}. */
export function outcomeOf(
  status: number,
  header: (name: string) => string | undefined,
  body: Buffer,
): Readonly<Record<string, unknown>> {
  const plain = header('content-encoding') === 'gzip' && body.length > 0 ? gunzipSync(body) : body;
  return {
    status,
    plan: header('x-plan'),
    received: header('x-received'),
    body: createHash('sha256').update(plain).digest('hex'),
    length: plain.length,
  };
}

export function expectedOutcome(id: string, plan: Plan): Readonly<Record<string, unknown>> {
  const isRefused = plan.response === 'refused';
  const whole = isRefused ? Buffer.from('refused') : bytesOf(id, plan.responseBytes);
  const body = plan.method === 'HEAD' ? Buffer.alloc(0) : whole;
  return {
    status: isRefused ? 403 : 200,
    plan: id,
    received: isRefused ? undefined : 'true',
    body: createHash('sha256').update(body).digest('hex'),
    length: body.length,
  };
}

export const requestBody = (id: string, plan: Plan): Buffer =>
  bytesOf(`request ${id}`, hasBody(plan) ? plan.bodyBytes : 0);

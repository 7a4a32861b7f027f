// oxlint-disable tests/no-real-timers -- clients and handlers are slow on purpose; the outcome does not depend on how slow
import { connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { HttpServer } from '@multiplane/generic-server';
import { generatedCases } from '@multiplane/testing';
import { Http1Client, TlsFixture } from '@multiplane/testing/serving';
import fc from 'fast-check';
import {
  expectedOutcome,
  hasBody,
  outcomeOf,
  type Plan,
  planned,
  PlannedHandler,
  requestBody,
} from './planned-exchange.ts';

/**
 * Clients that send and read in every way that the protocols allow, over real connections: each request is executed once and
 * gets one complete response. `make fuzz` plays more of them.
 */

const { runs, seed } = generatedCases({ runs: 8, seed: 35 });
/** Ends a test that waits for a response that never comes; says nothing about how fast responses are. */
const watchdogMs = 60_000;
const timeoutMs = Math.max(120_000, runs * 20_000);

let tls: TlsFixture;
let server: HttpServer;
let handler: PlannedHandler;
let number = 0;
beforeAll(async () => {
  tls = await TlsFixture.create();
  server = await tls.answer((exchange) => handler.handle(exchange), { maxPipelinedRequests: 5 });
});
beforeEach(() => {
  handler = new PlannedHandler();
});
afterAll(() => tls.cleanUp());

interface Client1 {
  readonly plans: readonly Plan[];
  /** Requests that are sent before the first of them has its response. */
  readonly pipelined: number;
  readonly split: 'whole' | 'head and body' | 'pieces' | 'bytes';
  /** Sizes of pieces, in turn. */
  readonly pieces: readonly number[];
  readonly pace: 'none' | 'immediate' | 'timer';
  readonly readsSlowly: boolean;
  readonly end: 'keep' | 'half-close' | 'close';
}

const client1: fc.Arbitrary<Client1> = fc.record({
  plans: fc.array(planned, { minLength: 1, maxLength: 8 }),
  pipelined: fc.constantFrom(1, 1, 2, 8),
  split: fc.constantFrom('whole', 'head and body', 'pieces', 'bytes'),
  pieces: fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 6 }),
  pace: fc.constantFrom('none', 'immediate', 'timer'),
  readsSlowly: fc.boolean(),
  end: fc.constantFrom('keep', 'half-close', 'close'),
});

function headOf(id: string, plan: Plan, isClosing: boolean): Buffer {
  const lines = [`${plan.method} /${id} HTTP/1.1`, 'Host: localhost'];
  if (plan.acceptsGzip) lines.push('Accept-Encoding: gzip');
  if (isClosing) lines.push('Connection: close');
  if (hasBody(plan)) {
    if (plan.expectsContinue) lines.push('Expect: 100-continue');
    lines.push(plan.framing === 'length' ? `Content-Length: ${plan.bodyBytes}` : 'Transfer-Encoding: chunked');
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}

function bodyOf(id: string, plan: Plan): Buffer {
  if (!hasBody(plan)) return Buffer.alloc(0);
  const body = requestBody(id, plan);
  if (plan.framing === 'length') return body;
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += 7_777) {
    const chunk = body.subarray(at, at + 7_777);
    parts.push(Buffer.from(`${chunk.length.toString(16)};extension=1\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\nX-Trailer: 1\r\n\r\n')]);
}

/** Cuts bytes as the client sends them. Only the first of them are sent one at a time. */
function* piecesOf(bytes: Buffer, { split, pieces }: Client1): Generator<Buffer> {
  if (split === 'whole' || split === 'head and body') {
    yield bytes;
    return;
  }
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = split === 'bytes' && at < 300 ? 1 : (pieces[turn % pieces.length] as number);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

const isRefusedEarly = (plan: Plan): boolean => plan.response === 'refused' && plan.expectsContinue && hasBody(plan);
const withoutWait = (plan: Plan): Plan => ({ ...plan, expectsContinue: false });

/** Plays a client and compares what it got with its plans. */
async function play1(client: Client1): Promise<void> {
  using connection = await Http1Client.open({ port: server.port, ca: tls.ca }, client);
  const { socket } = connection;
  const send = async (bytes: Buffer): Promise<void> => {
    for (const piece of piecesOf(bytes, client)) {
      await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
      if (client.pace === 'immediate') await immediate();
      if (client.pace === 'timer') await delay(1);
    }
  };
  // A refusal instead of `100 Continue` ends the connection, so nothing may wait behind it.
  const plans = client.plans.map((plan) => (client.pipelined > 1 && isRefusedEarly(plan) ? withoutWait(plan) : plan));
  const last = plans.findIndex(isRefusedEarly);
  const played = last < 0 ? plans : plans.slice(0, last + 1);
  const names = played.map(() => `plan-${number++}`);
  const responses: Promise<unknown>[] = [];
  for (const [index, plan] of played.entries()) {
    const id = names[index] as string;
    const isLast = index === played.length - 1;
    handler.plans.set(id, plan);
    await responses[index - client.pipelined];
    const response = connection.next(plan.method);
    responses.push(response);
    response.catch(() => undefined);
    const [head, body] = [headOf(id, plan, isLast && client.end === 'close'), bodyOf(id, plan)];
    const waits = plan.expectsContinue && hasBody(plan) && client.pipelined === 1;
    if (client.split === 'whole' && !waits) {
      await send(Buffer.concat([head, body]));
      continue;
    }
    const continued = waits ? connection.anyResponse() : undefined;
    await send(head);
    await continued;
    if (isRefusedEarly(plan)) break;
    await send(body);
  }
  if (client.end === 'half-close') socket.end();
  for (const [index, plan] of played.entries()) {
    const id = names[index] as string;
    const { status, headers, interim, body } = (await responses[index]) as Awaited<ReturnType<Http1Client['next']>>;
    expect(outcomeOf(status, (name) => headers.get(name), body)).toEqual(expectedOutcome(id, plan));
    expect(handler.executed.get(id)).toBe(1);
    if (isRefusedEarly(plan)) expect([interim, headers.get('connection')]).toEqual([[], 'close']);
  }
}

interface Stream2 {
  readonly plan: Plan;
  /** When the client resets the stream. */
  readonly reset: 'never' | 'at once' | 'later' | 'with the response';
  readonly hasTrailers: boolean;
  readonly readsSlowly: boolean;
  readonly pieces: readonly number[];
}
interface Client2 {
  readonly streams: readonly Stream2[];
  readonly window: number;
  readonly maxFrameSize: number;
}

const client2: fc.Arbitrary<Client2> = fc.record({
  streams: fc.array(
    fc.record({
      plan: planned,
      reset: fc.constantFrom('never', 'never', 'never', 'at once', 'later', 'with the response'),
      hasTrailers: fc.boolean(),
      readsSlowly: fc.boolean(),
      pieces: fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 6 }),
    }),
    { minLength: 1, maxLength: 40 },
  ),
  window: fc.constantFrom(1_000, 16_384, 65_535, 1_048_576),
  maxFrameSize: fc.constantFrom(16_384, 100_000),
});

async function play2({ streams, window, maxFrameSize }: Client2): Promise<void> {
  const session = connect(`https://127.0.0.1:${server.port}`, {
    ca: tls.ca,
    settings: { initialWindowSize: window, maxFrameSize, enablePush: false },
  });
  session.on('error', () => undefined);
  try {
    await Promise.all(streams.map((stream) => playStream(session, stream)));
  } finally {
    session.destroy();
  }
}

async function playStream(session: ReturnType<typeof connect>, planOf: Stream2): Promise<void> {
  const { plan, reset } = planOf;
  const id = `plan-${number++}`;
  handler.plans.set(id, plan);
  const withBody = hasBody(plan);
  const stream = session.request(
    {
      ':method': plan.method,
      ':path': `/${id}`,
      ...(plan.acceptsGzip ? { 'accept-encoding': 'gzip' } : {}),
      ...(withBody && plan.expectsContinue ? { expect: '100-continue' } : {}),
    },
    { endStream: !withBody, waitForTrailers: withBody && planOf.hasTrailers },
  );
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': '1' }));
  let headers: IncomingHttpHeaders = {};
  const chunks: Buffer[] = [];
  const ended = Promise.withResolvers<void>();
  const mayContinue = Promise.withResolvers<void>();
  // Awaited below, after the body is sent.
  ended.promise.catch(() => undefined);
  stream.on('error', (error) => ended.reject(error));
  stream.on('continue', () => mayContinue.resolve());
  stream.on('response', (given) => {
    headers = given;
    mayContinue.resolve();
    if (reset === 'with the response') stream.close(constants.NGHTTP2_CANCEL);
  });
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    if (!planOf.readsSlowly) return;
    stream.pause();
    setTimeout(() => stream.resume(), 1);
  });
  stream.on('end', () => ended.resolve());
  stream.on('close', () => {
    mayContinue.resolve();
    if (!stream.readableEnded) ended.reject(new Error('the stream was closed'));
  });
  if (reset === 'at once') stream.close(constants.NGHTTP2_CANCEL);
  if (reset === 'later') void delay(1).then(() => stream.close(constants.NGHTTP2_CANCEL));
  if (withBody) {
    if (plan.expectsContinue) await mayContinue.promise;
    const body = requestBody(id, plan);
    for (let at = 0, turn = 0; at < body.length && stream.writable; turn++) {
      const size = planOf.pieces[turn % planOf.pieces.length] as number;
      stream.write(body.subarray(at, at + size));
      at += size;
      await immediate();
    }
    stream.end();
  }
  if (reset !== 'never') {
    await ended.promise.catch(() => undefined);
    return;
  }
  await ended.promise;
  const header = (name: string): string | undefined => headers[name]?.toString();
  expect(outcomeOf(Number(headers[':status']), header, Buffer.concat(chunks))).toEqual(expectedOutcome(id, plan));
  expect(handler.executed.get(id)).toBe(1);
}

/** All clients at a time, so that their requests start and end in one iteration of the event loop. */
async function playAll<C>(clients: readonly C[], play: (client: C) => Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const watchdog = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('a request got no response')), watchdogMs);
  });
  try {
    await Promise.race([Promise.all(clients.map(play)), watchdog]);
    return true;
  } finally {
    clearTimeout(timer);
  }
}

describe('each request gets one complete response', () => {
  test(
    'over HTTP/1.1',
    async () => {
      const clients = fc.array(client1, { minLength: 2, maxLength: 8 });
      const details = await fc.check(
        fc.asyncProperty(clients, (all) => playAll(all, play1)),
        { numRuns: runs, seed, endOnFailure: true },
      );
      // The seed and the clients that were played, and why they failed.
      expect(details.failed ? fc.defaultReportMessage(details) : undefined).toBeUndefined();
    },
    timeoutMs,
  );

  test(
    'over HTTP/2',
    async () => {
      const clients = fc.array(client2, { minLength: 1, maxLength: 3 });
      const details = await fc.check(
        fc.asyncProperty(clients, (all) => playAll(all, play2)),
        { numRuns: runs, seed, endOnFailure: true },
      );
      // The seed and the clients that were played, and why they failed.
      expect(details.failed ? fc.defaultReportMessage(details) : undefined).toBeUndefined();
    },
    timeoutMs,
  );
});

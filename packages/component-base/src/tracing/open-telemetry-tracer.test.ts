import { afterEach, expect, test } from '@jest/globals';
import { eventually, TraceCollector } from '@multiplane/testing';
import { OpenTelemetryTracer } from './open-telemetry-tracer.ts';
import { runAndEnd, traced, traceHeaders } from './span.ts';

let collector: TraceCollector | undefined;
const collectors: TraceCollector[] = [];
afterEach(() => Promise.all(collectors.splice(0).map((each) => each[Symbol.asyncDispose]())));

async function tracer(samplingRatePerMillion: number): Promise<OpenTelemetryTracer> {
  collector = await TraceCollector.start();
  collectors.push(collector);
  return new OpenTelemetryTracer({
    endpoint: collector.endpoint,
    samplingRatePerMillion,
    service: 'test',
    version: '0',
  });
}

const traceId = '0af7651916cd43dd8448eb211c80319c';
const sampled = `00-${traceId}-b7ad6b7169203331-01`;
const request = { name: 'GET', startedAt: 1_000, tracestate: undefined, attributes: { 'k8s.verb': 'get' } };

test('steps of a request become its children, also behind asynchronous calls and errors', async () => {
  const traces = await tracer(1_000_000);
  const span = traces.startRequest({ ...request, traceparent: undefined, isTrusted: false });
  const sent = await runAndEnd(span, async () => {
    await Promise.resolve();
    await expect(traced('authorization', () => Promise.reject(new Error('a secret')))).rejects.toThrow('a secret');
    return traced('proxy', () => traceHeaders());
  });
  expect(traced('later', () => traceHeaders())).toEqual([]);
  await traces.stop();
  const [authorization, proxy, root] = collector?.spans ?? [];
  expect(collector?.spans).toHaveLength(3);
  expect([authorization?.name, proxy?.name, root?.name]).toEqual(['authorization', 'proxy', 'GET']);
  expect(root).toMatchObject({ service: 'test', parentId: '', attributes: { 'k8s.verb': 'get' } });
  expect([authorization?.parentId, proxy?.parentId]).toEqual([root?.spanId, root?.spanId]);
  expect(sent).toEqual(['traceparent', `00-${root?.traceId}-${proxy?.spanId}-01`]);
  expect(JSON.stringify(collector?.spans)).not.toContain('a secret');
});

test('a trusted caller continues its trace, sampled or not, whatever the rate', async () => {
  const traces = await tracer(0);
  const headers = (traceparent: string): readonly string[] =>
    runAndEnd(traces.startRequest({ ...request, traceparent, tracestate: 'a=b', isTrusted: true }), traceHeaders);
  expect(headers(sampled)[1]).toMatch(new RegExp(`^00-${traceId}-(?!b7ad6b7169203331).{16}-01$`));
  expect(headers(sampled).slice(2)).toEqual(['tracestate', 'a=b']);
  expect(headers(sampled.replace(/01$/, '00'))[1]).toMatch(/-00$/);
  await traces.stop();
  expect(collector?.spans.map((span) => [span.traceId, span.parentId])).toEqual([
    [traceId, 'b7ad6b7169203331'],
    [traceId, 'b7ad6b7169203331'],
  ]);
});

test('other callers cannot have their requests recorded; those that are link to theirs', async () => {
  const [never, always] = [await tracer(0), await tracer(1_000_000)];
  const span = never.startRequest({ ...request, traceparent: sampled, isTrusted: false });
  expect(span.isRecording).toBe(false);
  expect(runAndEnd(span, traceHeaders)[1]).toMatch(/-00$/);
  runAndEnd(always.startRequest({ ...request, traceparent: sampled, isTrusted: false }), () => undefined);
  await Promise.all([never.stop(), always.stop()]);
  await eventually(() => expect(collector?.spans).toHaveLength(1));
  expect(collector?.spans[0]).toMatchObject({ parentId: '', links: [traceId] });
  expect(collector?.spans[0]?.traceId).not.toBe(traceId);
});

test.each([
  '',
  'x',
  `ff-${traceId}-b7ad6b7169203331-01`,
  `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `${sampled}-more`,
  sampled.toUpperCase(),
])('a trace context that is not valid is ignored: %j', async (traceparent) => {
  const traces = await tracer(0);
  const [, sent] = runAndEnd(traces.startRequest({ ...request, traceparent, isTrusted: true }), traceHeaders);
  expect(sent).not.toContain(traceId);
  await traces.stop();
});

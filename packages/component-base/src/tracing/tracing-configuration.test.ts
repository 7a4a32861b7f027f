import { expect, test } from '@jest/globals';
import { parseTracingConfiguration } from './tracing-configuration.ts';

const parse = (document: object): unknown =>
  parseTracingConfiguration(
    JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'TracingConfiguration', ...document }),
    'tracing.yaml',
    { decode: JSON.parse },
  );

test('defaults are those of kube-apiserver: a local collector, no requests that are not sampled already', () => {
  expect(parse({})).toEqual({ endpoint: 'localhost:4317', samplingRatePerMillion: 0 });
  expect(parse({ endpoint: 'dns:///otel:4317', samplingRatePerMillion: 100 })).toEqual({
    endpoint: 'dns:///otel:4317',
    samplingRatePerMillion: 100,
  });
});

test.each<[object, string]>([
  [{ kind: 'Other' }, 'kind'],
  [{ apiVersion: 'v1' }, 'apiVersion'],
  [{ samplingRatePerMillion: -1 }, 'samplingRatePerMillion'],
  [{ samplingRatePerMillion: 1_000_001 }, 'samplingRatePerMillion'],
  [{ samplingRate: 1 }, 'samplingRate'],
  [{ endpoint: 'https://otel:4317' }, 'unsupported scheme'],
])('refuses %j', (document, text) => {
  expect(() => parse(document)).toThrow(text);
});

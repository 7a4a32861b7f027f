import { expect, test } from '@jest/globals';
import { MetricsRegistry, durationBuckets } from './metrics-registry.ts';

test('renders counters, gauges and histograms in the text format', async () => {
  const registry = new MetricsRegistry();
  const requests = registry.counter({ name: 'requests_total', help: 'Requests.', labels: { verb: ['GET', 'LIST'] } });
  requests.add(2, { verb: 'GET' });
  registry.gauge({ name: 'watchers', help: 'Watchers.' }).set(3);
  registry.gauge({ name: 'lag_seconds', help: 'Lag.', read: () => 1.5 });
  registry.histogram({ name: 'duration_seconds', help: 'Duration.', buckets: durationBuckets }).observe(0.3);
  const text = await registry.render();
  expect(text).toContain('requests_total{verb="GET"} 2\n');
  expect(text).toContain('watchers 3\n');
  expect(text).toContain('lag_seconds 1.5\n');
  expect(text).toContain('duration_seconds_bucket{le="0.4"} 1\n');
});

test('a gauge with readAll has the series of the scrape', async () => {
  const registry = new MetricsRegistry();
  const now = new Map([
    ['a', 1],
    ['b', 2],
  ]);
  registry.gauge({
    name: 'g',
    help: 'g',
    labels: { which: 2 },
    readAll: () => [...now].map(([which, value]) => [{ which }, value] as const),
  });
  expect(await registry.render()).toContain('g{which="a"} 1\ng{which="b"} 2\n');
  now.delete('a');
  now.set('c', 3);
  now.set('d', 4);
  expect(await registry.render()).toContain('g{which="b"} 2\ng{which="other"} 7\n');
});

test('unlisted label values, and values beyond the maximum, count as other', async () => {
  const registry = new MetricsRegistry();
  const counter = registry.counter({
    name: 'c_total',
    help: 'c',
    labels: { verb: ['GET'], resource: 2 },
  });
  for (const [verb, resource] of [
    ['GET', 'a'],
    ['BREW', 'b'],
    ['GET', 'c'],
    ['GET', 'd'],
    ['GET', 'a'],
  ] as const) {
    counter.add(1, { verb, resource });
  }
  const text = await registry.render();
  expect(text).toContain('c_total{verb="GET",resource="a"} 2');
  expect(text).toContain('c_total{verb="other",resource="b"} 1');
  expect(text).toContain('c_total{verb="GET",resource="other"} 2');
});

test('refuses labels that grow with tenants', () => {
  const registry = new MetricsRegistry();
  expect(() => registry.counter({ name: 'c_total', help: 'c', labels: { workspace: 10 } })).toThrow(
    'label workspace is forbidden',
  );
});

test('registries are independent', async () => {
  const [first, second] = [new MetricsRegistry(), new MetricsRegistry()];
  first.counter({ name: 'c_total', help: 'c' }).add(1);
  second.counter({ name: 'c_total', help: 'c' }).add(5);
  expect(await first.render()).toContain('c_total 1\n');
  second.reset();
  expect(await second.render()).toContain('c_total 0\n');
});

test('a kept series counts without labels, also after a reset', async () => {
  const registry = new MetricsRegistry();
  const counter = registry.counter({ name: 'c_total', help: 'c', labels: { verb: ['GET'] } });
  const histogram = registry.histogram({ name: 'h', help: 'h', labels: { verb: ['GET'] }, buckets: [1, 10] });
  const requests = counter.series({ verb: 'GET' });
  const sizes = histogram.series({ verb: 'GET' });
  requests.add(1);
  counter.add(1, { verb: 'GET' });
  for (const size of [0.5, 1, 5, 50]) sizes.observe(size);
  const text = await registry.render();
  expect(text).toContain('# TYPE c_total counter\nc_total{verb="GET"} 2\n');
  expect(text).toContain(
    [
      '# TYPE h histogram',
      'h_bucket{le="1",verb="GET"} 2',
      'h_bucket{le="10",verb="GET"} 3',
      'h_bucket{le="+Inf",verb="GET"} 4',
      'h_sum{verb="GET"} 56.5',
      'h_count{verb="GET"} 4',
    ].join('\n'),
  );
  registry.reset();
  requests.add(1);
  expect(await registry.render()).toContain('c_total{verb="GET"} 1\n');
});

import { expect, test } from '@jest/globals';
import { MetricsRegistry, durationBuckets } from './metrics-registry.ts';
import { addProcessMetrics } from './process-metrics.ts';

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

test('beyond its number of label sets a metric folds open labels, then all of them; sums stay exact', async () => {
  const registry = new MetricsRegistry();
  const counter = registry.counter({
    name: 'c_total',
    help: 'c',
    labels: { verb: ['GET', 'PUT', 'POST'], resource: 100, component: ['apiserver'] },
    maxLabelSets: 8,
  });
  for (let i = 0; i < 50; i++)
    for (const verb of ['GET', 'PUT', 'POST', 'BREW'])
      counter.add(1, { verb, resource: `r${i}`, component: 'apiserver' });
  const lines = (await registry.render()).split('\n').filter((line) => line.startsWith('c_total{'));
  expect(lines).toHaveLength(8);
  expect(lines.slice(0, 2)).toEqual([
    'c_total{verb="GET",resource="r0",component="apiserver"} 1',
    'c_total{verb="PUT",resource="r0",component="apiserver"} 1',
  ]);
  expect(lines.at(-1)).toMatch(/^c_total\{verb="other",resource="other",component="apiserver"\}/);
  expect(lines.reduce((sum, line) => sum + Number(line.split(' ')[1]), 0)).toBe(200);
});

test('a registry refuses a metric with which it could exceed the limit of series', () => {
  const registry = new MetricsRegistry();
  registry.counter({ name: 'c_total', help: 'c', labels: { code: 48 }, maxLabelSets: 1_400 });
  expect(() => registry.histogram({ name: 'h', help: 'h', labels: { code: 48 }, buckets: [1, 2] })).toThrow(
    'metric h: the server could have 1645 series, more than 1500',
  );
  expect(registry.seriesLimit).toBe(1_400);
});

test('a counter with readAll has the values of the scrape', async () => {
  const registry = new MetricsRegistry();
  const values: [string, number][] = [
    ['a', 1],
    ['b', 2],
    ['b', 3],
  ];
  registry.counter({
    name: 'c_total',
    help: 'c',
    labels: { name: 4 },
    readAll: () => values.map(([name, value]) => [{ name }, value] as const),
  });
  expect(await registry.render()).toContain('c_total{name="a"} 1\nc_total{name="b"} 5\n');
  values.pop();
  expect(await registry.render()).toContain('c_total{name="b"} 2\n');
});

test('metrics of the process', async () => {
  const registry = new MetricsRegistry();
  addProcessMetrics(registry);
  const text = await registry.render();
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_start_time_seconds'])
    expect(Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])).toBeGreaterThan(0);
});

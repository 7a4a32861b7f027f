import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { MetricsRegistry } from '@multiplane/component-base';
import { RestClientMetrics } from './rest-client-metrics.ts';
import { RestTransport } from './rest-transport.ts';

const seriesOf = async (registry: MetricsRegistry): Promise<string[]> =>
  (await registry.render()).split('\n').filter((line) => line.startsWith('rest_client_requests_total'));

test('requests are counted by code, method and host; without a response as <error>, aborted ones not at all', async () => {
  const registry = new MetricsRegistry();
  const metrics = new RestClientMetrics(registry);
  const server = createServer((request, response) => {
    response.statusCode = request.method === 'POST' ? 409 : 200;
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const transport = new RestTransport({ config: { server: `http://${host}` }, metrics });
  try {
    for (let i = 0; i < 2; i++) await transport.json({ method: 'GET', path: '/secret-name' });
    await expect(transport.json({ method: 'POST', path: '/' })).rejects.toMatchObject({ code: 409 });
    const aborted = transport.json({ method: 'GET', path: '/', signal: AbortSignal.abort() });
    await expect(aborted).rejects.toThrow('aborted');
  } finally {
    server.close();
    server.closeAllConnections();
    transport.close();
  }
  const nowhere = new RestTransport({ config: { server: 'http://127.0.0.1:1' }, metrics });
  await expect(nowhere.json({ method: 'GET', path: '/' })).rejects.toThrow('ECONNREFUSED');
  expect(await seriesOf(registry)).toEqual([
    `rest_client_requests_total{code="200",method="GET",host="${host}"} 2`,
    `rest_client_requests_total{code="409",method="POST",host="${host}"} 1`,
    'rest_client_requests_total{code="<error>",method="GET",host="127.0.0.1:1"} 1',
  ]);
});

test('hosts and codes without end have a bounded number of series, and their sum is exact', async () => {
  const registry = new MetricsRegistry();
  const metrics = new RestClientMetrics(registry);
  for (let i = 0; i < 1_000; i++)
    metrics.finished(['GET', 'PUT', 'TRACE'][i % 3] as string, `host-${i}`, 200 + (i % 300));
  const series = await seriesOf(registry);
  expect(series.length).toBeLessThanOrEqual(20);
  expect(series.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)).toBe(1_000);
});

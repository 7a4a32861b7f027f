import { expect, test } from '@jest/globals';
import { HealthChecks } from './health-checks.ts';
import { parseHealthRequest, renderHealth } from './render-health.ts';

const broken = (): void => {
  throw new Error('no leader');
};

async function ask(checks: HealthChecks, url: string): Promise<{ status: number; body: string }> {
  const { pathname, searchParams } = new URL(url, 'https://server');
  const request = parseHealthRequest(pathname, searchParams);
  if (request === undefined) throw new Error(`not a health path: ${url}`);
  const { status, body } = await renderHealth(checks, request);
  return { status, body };
}

test('healthy: ok, and every check with ?verbose', async () => {
  const checks = new HealthChecks();
  checks.add('etcd', () => Promise.resolve());
  expect(await ask(checks, '/livez')).toEqual({ status: 200, body: 'ok' });
  expect(await ask(checks, '/livez/')).toEqual({ status: 200, body: 'ok' });
  expect(await ask(checks, '/readyz?verbose')).toEqual({
    status: 200,
    body: '[+]ping ok\n[+]etcd ok\nreadyz check passed\n',
  });
  expect(await ask(checks, '/healthz/etcd')).toEqual({ status: 200, body: 'ok' });
});

test('unhealthy: every check is listed and the reasons are withheld', async () => {
  const checks = new HealthChecks();
  checks.add('etcd', broken);
  expect(await ask(checks, '/livez')).toEqual({
    status: 500,
    body: '[+]ping ok\n[-]etcd failed: reason withheld\nlivez check failed\n',
  });
  expect(await ask(checks, '/livez/etcd')).toEqual({ status: 500, body: 'internal server error: no leader\n' });
});

test('the failures come with their reasons, for the log', async () => {
  const checks = new HealthChecks();
  checks.add('etcd', () => Promise.reject(new Error('no leader')));
  const { failures } = await renderHealth(checks, { endpoint: 'livez' });
  expect(failures).toMatchObject([{ name: 'etcd', error: { message: 'no leader' } }]);
});

test('excluded checks do not count, and unknown ones are reported', async () => {
  const checks = new HealthChecks();
  checks.add('etcd', broken);
  expect(await ask(checks, '/livez?verbose&exclude=etcd&exclude=x&exclude=a')).toEqual({
    status: 200,
    body:
      '[+]ping ok\n[+]etcd excluded: ok\nwarn: some health checks cannot be excluded: no matches for "a", "x"\n' +
      'livez check passed\n',
  });
  expect(await ask(checks, '/livez?exclude=etcd')).toEqual({ status: 200, body: 'ok' });
});

test('a check belongs only to the endpoints it was added for', async () => {
  const checks = new HealthChecks();
  checks.add('shutdown', broken, { endpoints: ['readyz'] });
  expect(await ask(checks, '/livez')).toMatchObject({ status: 200 });
  expect(await ask(checks, '/readyz')).toMatchObject({ status: 500 });
  expect(await ask(checks, '/livez/shutdown')).toMatchObject({ status: 404 });
  expect(await ask(checks, '/readyz/nothing')).toMatchObject({ status: 404 });
});

test('a latch fails until its step is done', async () => {
  const checks = new HealthChecks();
  const latch = checks.addLatch('poststarthook/bootstrap');
  expect(await ask(checks, '/readyz/poststarthook/bootstrap')).toEqual({
    status: 500,
    body: 'internal server error: not finished\n',
  });
  latch.done();
  expect(await ask(checks, '/readyz')).toMatchObject({ status: 200 });
});

test('a name is unique, and a check can be removed', () => {
  const checks = new HealthChecks();
  const remove = checks.add('etcd', broken);
  expect(() => checks.add('etcd', broken)).toThrow('already');
  remove();
  expect(checks.names('livez')).toEqual(['ping']);
});

test('other paths are not health requests', () => {
  expect(parseHealthRequest('/livezz', new URLSearchParams())).toBeUndefined();
  expect(parseHealthRequest('/api', new URLSearchParams())).toBeUndefined();
});

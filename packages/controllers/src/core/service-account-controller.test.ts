import { expect, test } from '@jest/globals';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import { serviceAccountController } from './service-account-controller.ts';

const namespaces = { group: '', version: 'v1', resource: 'namespaces' };
const serviceAccounts = { group: '', version: 'v1', resource: 'serviceaccounts' };
const one = 'one' as LogicalClusterName;

test('reconciles a new namespace before those of the initial list', async () => {
  const api = new FakeApi();
  const put = (name: string): void =>
    void api.put(namespaces, one, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const count = 100;
  for (let n = 0; n < count; n++) put(`old-${n}`);
  const { informers, client } = api;
  const clock = new FakeClock();
  const controller = serviceAccountController({ informers, client, clock, logger: silentLogger });
  await controller.start();
  put('new');
  await clock.advance(0);
  expect(api.all(serviceAccounts)).toHaveLength(count + 1);
  await controller.stop();
  const order = api.all(serviceAccounts).map(({ metadata }) => metadata.namespace);
  expect(order[0]).toBe('new');
  expect(order.slice(1)).toEqual(Array.from({ length: count }, (_, n) => `old-${n}`));
});

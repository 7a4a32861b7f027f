import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { JsonObject, LogicalClusterName } from '@multiplane/apimachinery';
import { silentLogger } from '@multiplane/component-base';
import { FakeClock } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import type { Controller } from '../runtime/controller.ts';
import { resourceQuotaController } from './resource-quota-controller.ts';

const core = (resource: string) => ({ group: '', version: 'v1', resource });
const one = 'one' as LogicalClusterName;
const namespace = 'default';

let api: FakeApi;
let clock: FakeClock;
let controller: Controller;

beforeEach(async () => {
  api = new FakeApi();
  clock = new FakeClock();
  const { informers, client } = api;
  controller = resourceQuotaController({ informers, client, clock, logger: silentLogger });
  await controller.start();
});
afterEach(() => controller.stop());

const put = (resource: string, kind: string, name: string, content: JsonObject = {}): void =>
  void api.put(core(resource), one, { apiVersion: 'v1', kind, metadata: { name, namespace }, ...content });
const secret = (name: string): void => put('secrets', 'Secret', name);
const pod = (name: string, content: JsonObject = {}): void => put('pods', 'Pod', name, content);
const quota = (name: string, spec: JsonObject): void => put('resourcequotas', 'ResourceQuota', name, { spec });
const status = (name = 'q'): JsonObject | undefined =>
  api.all(core('resourcequotas')).find(({ metadata }) => metadata.name === name)?.['status'] as JsonObject | undefined;

/** A quota of secrets whose limits the controller has published. */
async function publishedQuota(): Promise<void> {
  quota('q', { hard: { secrets: '9' } });
  await clock.advance(0);
  expect(status()).toEqual({ hard: { secrets: '9' }, used: { secrets: '0' } });
}

describe('a create that admission saw before the limits were published', () => {
  test('is counted when it is stored after the count', async () => {
    await publishedQuota();
    secret('late');
    await clock.advance(0);
    expect(status()?.['used']).toEqual({ secrets: '1' });
  });

  test('does not return the charges of creates under way', async () => {
    await publishedQuota();
    put('resourcequotas', 'ResourceQuota', 'q', {
      spec: { hard: { secrets: '9' } },
      status: { hard: { secrets: '9' }, used: { secrets: '3' } },
    });
    for (const name of ['a', 'b', 'c', 'd']) secret(name);
    await clock.advance(0);
    expect(status()?.['used']).toEqual({ secrets: '4' });
  });

  test('is not expected longer than a request takes', async () => {
    await publishedQuota();
    await clock.advance(61_000);
    secret('charged');
    quota('other', { hard: { secrets: '9' } });
    await clock.advance(0);
    expect(status('other')?.['used']).toEqual({ secrets: '1' });
    expect(status()?.['used']).toEqual({ secrets: '0' });
  });
});

test('pods count by the scopes of a quota, claims by their classes, and other kinds not at all in a scope', async () => {
  pod('plain');
  pod('short', {
    spec: { activeDeadlineSeconds: 5, containers: [{ name: 'c', resources: { requests: { cpu: '250m' } } }] },
  });
  pod('done', { status: { phase: 'Succeeded' } });
  put('persistentvolumeclaims', 'PersistentVolumeClaim', 'gold', {
    spec: { volumeAttributesClassName: 'gold', resources: { requests: { storage: '3Gi' } } },
  });
  put('persistentvolumeclaims', 'PersistentVolumeClaim', 'none', {});
  secret('s');
  quota('best', { hard: { pods: '9', 'count/secrets': '9' }, scopes: ['BestEffort'] });
  quota('short', { hard: { pods: '9', 'requests.cpu': '1' }, scopes: ['Terminating', 'NotBestEffort'] });
  const scopeSelector = {
    matchExpressions: [{ scopeName: 'VolumeAttributesClass', operator: 'In', values: ['gold', 'silver'] }],
  };
  quota('gold', { hard: { persistentvolumeclaims: '9', 'requests.storage': '9Gi' }, scopeSelector });
  quota('all', { hard: { pods: '9', 'count/pods': '9', secrets: '9' } });
  const used = (name: string): unknown => status(name)?.['used'];
  await clock.advance(0);
  expect(used('best')).toEqual({ pods: '1', 'count/secrets': '0' });
  expect(used('short')).toEqual({ pods: '1', 'requests.cpu': '250m' });
  expect(used('gold')).toEqual({ persistentvolumeclaims: '1', 'requests.storage': '3Gi' });
  expect(used('all')).toEqual({ pods: '2', 'count/pods': '3', secrets: '1' });
  pod('plain', { status: { phase: 'Failed' } });
  await clock.advance(0);
  expect(used('best')).toEqual({ pods: '0', 'count/secrets': '0' });
});

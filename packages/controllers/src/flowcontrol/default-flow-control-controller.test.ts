import { expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from '@multiplane/apis';
import { silentLogger } from '@multiplane/component-base';
import { advanceUntilIdle, FakeClock } from '@multiplane/testing';
import { FakeApi } from '../../test/fake-api.ts';
import { defaultFlowControlController } from './default-flow-control-controller.ts';

const admin = 'system:admin' as LogicalClusterName;
const tenant = 'tenant' as LogicalClusterName;
const group = 'flowcontrol.apiserver.k8s.io';
const schemas: GroupVersionResource = { group, version: 'v1', resource: 'flowschemas' };
const levels: GroupVersionResource = { group, version: 'v1', resource: 'prioritylevelconfigurations' };

test('default objects come back in system:admin, and mandatory ones keep their spec', async () => {
  const api = new FakeApi();
  const clock = new FakeClock();
  const controller = defaultFlowControlController({
    informers: api.informers,
    client: api.client,
    clock,
    logger: silentLogger,
  });
  await controller.start();
  const named = (resource: GroupVersionResource, name: string): KubeObject | undefined =>
    api.all(resource, admin).find(({ metadata }) => metadata.name === name);
  const settle = (): Promise<void> => advanceUntilIdle(clock, 1000, [controller]);
  try {
    for (const cluster of [admin, tenant]) {
      for (const object of bootstrapFlowSchemas()) api.put(schemas, cluster, object);
      for (const object of bootstrapPriorityLevels()) api.put(levels, cluster, object);
    }
    const before = api.all(schemas, admin).length;
    await settle();
    for (const [resource, name] of [
      [schemas, 'catch-all'],
      [schemas, 'global-default'],
      [levels, 'exempt'],
      [levels, 'workload-low'],
    ] as const) {
      for (const cluster of [admin, tenant]) await api.client.delete(resource, { cluster, namespace: '', name });
      await settle();
      expect([name, named(resource, name)?.['spec']]).toEqual([name, expect.anything()]);
    }
    expect(api.all(schemas, tenant)).toHaveLength(before - 2);
    for (const name of ['catch-all', 'global-default']) {
      const schema = named(schemas, name) as KubeObject;
      api.put(schemas, admin, { ...schema, spec: { ...(schema['spec'] as object), matchingPrecedence: 1 } });
    }
    await settle();
    const precedence = (name: string): unknown =>
      (named(schemas, name)?.['spec'] as { matchingPrecedence?: unknown } | undefined)?.matchingPrecedence;
    expect([precedence('catch-all'), precedence('global-default')]).toEqual([10_000, 1]);
  } finally {
    await controller.stop();
  }
});

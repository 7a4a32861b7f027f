import { expect, test } from '@jest/globals';
import { MetricsRegistry } from '../metrics/metrics-registry.ts';
import { ObjectFaults, type FaultyObject } from './object-faults.ts';

const broken: FaultyObject = { kind: 'CustomResourceDefinition', cluster: 'c', name: 'a.example.com', version: 'u/1' };

function recorded() {
  const lines: unknown[] = [];
  const logger = {
    error: (message: string, fields: object) => void lines.push([message, fields]),
  } as unknown as NonNullable<ConstructorParameters<typeof ObjectFaults>[0]['logger']>;
  const registry = new MetricsRegistry();
  return { lines, registry, faults: new ObjectFaults({ logger, registry }) };
}

const failing = (message: string) => (): string => {
  throw new Error(message);
};

test('a failure is answered with the alternative, logged once for each state of the object, and counted', async () => {
  const { lines, registry, faults } = recorded();
  const heard: FaultyObject[] = [];
  faults.subscribe((object) => heard.push(object));
  expect(
    faults.isolate(
      broken,
      () => 'derived',
      () => 'other',
    ),
  ).toBe('derived');
  for (let attempt = 0; attempt < 3; attempt++)
    expect(faults.isolate(broken, failing('no'), (cause) => (cause as Error).message)).toBe('no');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toEqual([
    'failed to evaluate an API object, other objects are not affected',
    { kind: broken.kind, cluster: 'c', name: 'a.example.com', error: new Error('no') },
  ]);
  expect(heard).toEqual([broken]);
  expect(faults.of(broken)).toEqual(['no']);
  const changed = { ...broken, version: 'u/2' };
  expect(faults.of(changed)).toEqual([]);
  faults.isolate(changed, failing('still no'), () => '');
  expect(faults.of(changed)).toEqual(['still no']);
  expect(faults.of(broken)).toEqual([]);
  const series = 'multiplane_object_faults_total{kind="CustomResourceDefinition"} 2';
  expect(await registry.render()).toContain(series);
});

test('the memory for faults is bounded', () => {
  const { faults } = recorded();
  for (let index = 0; index < 5_000; index++) faults.report({ ...broken, name: `n${index}` }, new Error('x'));
  expect(faults.of({ ...broken, name: 'n0' })).toEqual([]);
  expect(faults.of({ ...broken, name: 'n4999' })).toEqual(['x']);
});

import { expect, test } from '@jest/globals';
import type { APIBinding } from '@multiplane/apis';
import { FakeInformer } from '../../test/fake-informer.ts';
import { ExportConsumers } from './export-consumers.ts';

const images = { cluster: 'provider', name: 'images' };

function binding(cluster: string, { phase = 'Bound', exported = 'images', found = 'provider' } = {}): APIBinding {
  return {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name: 'images', annotations: { 'kcp.io/cluster': cluster } },
    spec: { reference: { export: { path: 'root:provider', name: exported } } },
    status: { phase, apiExportClusterName: found },
  } as unknown as APIBinding;
}

function followed(...bindings: APIBinding[]) {
  const informer = new FakeInformer<APIBinding>(...bindings);
  const consumers = new ExportConsumers({ informer });
  const changes: string[] = [];
  const stop = consumers.follow(images, (cluster, isPresent) => changes.push(`${isPresent ? '+' : '-'}${cluster}`));
  return { informer, consumers, changes, stop };
}

test('lists the logical clusters that are bound, in bytewise order, whether or not the export is followed', () => {
  const { consumers, stop } = followed(
    binding('berta'),
    binding('Anna'),
    binding('carl', { phase: 'Binding' }),
    binding('dora', { exported: 'disks' }),
    binding('emil', { found: 'other' }),
  );
  expect(consumers.list(images)).toEqual(['Anna', 'berta']);
  expect(consumers.list({ cluster: 'other', name: 'images' })).toEqual(['emil']);
  stop();
  expect(consumers.list(images)).toEqual(['Anna', 'berta']);
});

test('tells who comes and goes, and lists them from then on', () => {
  const { informer, consumers, changes, stop } = followed(binding('anna'));
  expect(consumers.list(images)).toEqual(['anna']);
  informer.put(binding('berta', { phase: 'Binding' }));
  expect(changes).toEqual([]);
  informer.put(binding('berta'));
  informer.put(binding('berta'));
  informer.put(binding('carl', { found: 'other' }));
  expect(changes).toEqual(['+berta']);
  expect(consumers.list(images)).toEqual(['anna', 'berta']);
  informer.put(binding('anna', { exported: 'disks' }));
  informer.remove(binding('berta'));
  expect(changes.slice(1)).toEqual(['-anna', '-berta']);
  expect(consumers.list(images)).toEqual([]);
  stop();
  informer.put(binding('berta'));
  expect(changes).toHaveLength(3);
});

test('does not look through all bindings again while the export is followed', () => {
  const { informer, consumers } = followed(binding('anna'));
  const counted = { times: 0 };
  const list = informer.list.bind(informer);
  informer.list = (scope) => {
    counted.times += 1;
    return list(scope);
  };
  for (let n = 0; n < 5; n++) {
    informer.put(binding(`consumer-${n}`));
    consumers.list(images);
  }
  expect(counted.times).toBe(1);
  expect(consumers.list(images)).toHaveLength(6);
});

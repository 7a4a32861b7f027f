import { expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerHandlers, InformerSource } from '@multiplane/client';
import { FakeApi } from '../../test/fake-api.ts';
import { SliceWatches } from './slice-watches.ts';

const cluster = 'provider' as LogicalClusterName;
const slices = (resource: string): GroupVersionResource => ({ group: 'example.io', version: 'v1', resource });
const slice: KubeObject = { apiVersion: 'example.io/v1', kind: 'Slice', metadata: { name: 'one' } };

test('one watch per kind serves all exports and ends with the last one', () => {
  const api = new FakeApi();
  const open: string[] = [];
  const informers: InformerSource = {
    informer: <T extends KubeObject>(resource: GroupVersionResource) => {
      const informer = api.informers.informer<T>(resource);
      return {
        ...informer,
        addHandlers: (handlers: InformerHandlers<T>) => {
          open.push(resource.resource);
          const stop = informer.addHandlers(handlers);
          return () => {
            open.splice(open.indexOf(resource.resource), 1);
            stop();
          };
        },
      } as Informer<T>;
    },
  };
  const changes: string[] = [];
  const watches = new SliceWatches({ informers, onChange: ({ name }) => void changes.push(name) });
  watches.set('a', [slices('slices'), slices('others')]);
  watches.set('b', [slices('slices'), slices('slices')]);
  expect(open).toEqual(['slices', 'others']);
  api.put(slices('slices'), cluster, slice);
  expect(changes).toEqual(['one']);
  watches.set('a', []);
  expect(open).toEqual(['slices']);
  watches.set('b', []);
  expect(open).toEqual([]);
  api.remove(slices('slices'), { cluster, namespace: '', name: 'one' });
  expect(changes).toEqual(['one']);
});

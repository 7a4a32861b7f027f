import { beforeEach, describe, expect, test } from '@jest/globals';
import { deepFreeze, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import { updateIfChanged, type UpdateWithStatus } from './object-writes.ts';

const things = { group: 'x.dev', version: 'v1', resource: 'things' };
const cluster = 'tenant' as LogicalClusterName;
const object = deepFreeze({
  apiVersion: 'x.dev/v1',
  kind: 'Thing',
  metadata: { name: 'a', resourceVersion: '7', labels: { a: 'b' } },
  spec: { size: 1 },
  status: { phase: 'New' },
});

let written: KubeObject[];
const updateWithStatus: UpdateWithStatus = async (_resource, _cluster, changed) => {
  written.push(changed);
  return changed;
};
const update = (parts: Parameters<typeof updateIfChanged>[4]): Promise<boolean> =>
  updateIfChanged(updateWithStatus, things, cluster, object, parts);

beforeEach(() => {
  written = [];
});

describe('updateIfChanged', () => {
  test('writes changed fields in one request at the version that was read', async () => {
    expect(await update({ status: { phase: 'Ready' }, metadata: { labels: { phase: 'Ready' } } })).toBe(true);
    expect(written).toEqual([
      {
        ...object,
        metadata: { name: 'a', resourceVersion: '7', labels: { phase: 'Ready' } },
        status: { phase: 'Ready' },
      },
    ]);
    expect(object.status.phase).toBe('New');
  });

  test('makes no request when no field changes', async () => {
    expect(await update({ spec: { size: 1 }, status: { phase: 'New' }, metadata: undefined })).toBe(false);
    expect(written).toEqual([]);
  });

  test('writes when only the metadata or only one of several fields changes', async () => {
    expect(await update({ status: { phase: 'New' }, metadata: { labels: {} } })).toBe(true);
    expect(await update({ spec: { size: 2 }, status: { phase: 'New' } })).toBe(true);
    expect(written.map(({ metadata, spec }) => [metadata.labels, spec])).toEqual([
      [{}, { size: 1 }],
      [{ a: 'b' }, { size: 2 }],
    ]);
  });

  test('treats empty and absent fields as equal', async () => {
    expect(await update({ extra: {} })).toBe(false);
    expect(await update({ extra: undefined })).toBe(false);
  });
});

import { beforeEach, describe, expect, test } from '@jest/globals';
import { deepFreeze, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import { updateParts, type UpdateWhole } from './update-status.ts';

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
const updateWhole: UpdateWhole = async (_resource, _cluster, changed) => {
  written.push(changed);
  return changed;
};
const update = (parts: Parameters<typeof updateParts>[4]): Promise<boolean> =>
  updateParts(updateWhole, things, cluster, object, parts);

beforeEach(() => {
  written = [];
});

describe('parts of an object', () => {
  test('are written together, at the version that was read', async () => {
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

  test('are not written where they are as they should be', async () => {
    expect(await update({ spec: { size: 1 }, status: { phase: 'New' }, metadata: undefined })).toBe(false);
    expect(written).toEqual([]);
  });

  test('are written where metadata alone has to change, or one of several parts', async () => {
    expect(await update({ status: { phase: 'New' }, metadata: { labels: {} } })).toBe(true);
    expect(await update({ spec: { size: 2 }, status: { phase: 'New' } })).toBe(true);
    expect(written.map(({ metadata, spec }) => [metadata.labels, spec])).toEqual([
      [{}, { size: 1 }],
      [{ a: 'b' }, { size: 2 }],
    ]);
  });

  test('that are empty are as good as absent', async () => {
    expect(await update({ extra: {} })).toBe(false);
    expect(await update({ extra: undefined })).toBe(false);
  });
});

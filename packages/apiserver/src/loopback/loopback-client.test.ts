import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import { Pipeline } from '../../test/pipeline.ts';

const namespaces = { group: '', version: 'v1', resource: 'namespaces' };
const namespace = (name: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});

let pipeline: Pipeline;
beforeEach(async () => {
  pipeline = await Pipeline.open();
});
afterEach(async () => {
  await pipeline.close();
});

const stored = (name: string): Promise<KubeObject> =>
  pipeline.client.get(namespaces, { cluster: pipeline.cluster, namespace: '', name });

describe('a write', () => {
  test('returns the stored object as a copy', async () => {
    const created = await pipeline.client.create(namespaces, pipeline.cluster, namespace('a'));
    expect(created).toEqual(await stored('a'));
    created.metadata.labels = { mine: 'yes' };
    await pipeline.client.update(namespaces, pipeline.cluster, created);
    expect((await stored('a')).metadata.labels).toMatchObject({ mine: 'yes' });
  });

  test('with discardResult is stored, and does not modify the sent object', async () => {
    const sent = Object.freeze(namespace('b', { first: 'yes' }));
    await pipeline.client.create(namespaces, pipeline.cluster, sent, { discardResult: true });
    expect(sent).toEqual(namespace('b', { first: 'yes' }));
    const before = await stored('b');
    const changed = { ...before, metadata: { ...before.metadata, labels: { second: 'yes' } } };
    await pipeline.client.update(namespaces, pipeline.cluster, changed, { discardResult: true });
    const { metadata } = await stored('b');
    expect(metadata.uid).toBe(before.metadata.uid);
    expect(metadata.labels).toMatchObject({ second: 'yes' });
  });

  test('with discardResult is validated like any other', async () => {
    await pipeline.client.create(namespaces, pipeline.cluster, namespace('c'), { discardResult: true });
    await expect(
      pipeline.client.create(namespaces, pipeline.cluster, namespace('c'), { discardResult: true }),
    ).rejects.toMatchObject({ reason: 'AlreadyExists' });
    const old = { ...(await stored('c')) };
    old.metadata = { ...old.metadata, resourceVersion: '1' };
    await expect(
      pipeline.client.update(namespaces, pipeline.cluster, old, { discardResult: true }),
    ).rejects.toMatchObject({
      reason: 'Conflict',
    });
  });
});

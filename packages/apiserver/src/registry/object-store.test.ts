import { afterEach, describe, expect, test } from '@jest/globals';
import { eventLoopIdle } from '@multiplane/testing';
import type { KubeObject } from '@multiplane/apimachinery';
import { OutcomeUnknownError, StorageFullError, type Storage } from '@multiplane/storage';
import type { AdmissionPlugin } from '../admission/plugin.ts';
import { Pipeline, type PipelineOptions } from '../../test/pipeline.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const roles = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles';
const mergePatch = { 'content-type': 'application/merge-patch+json' };

let pipeline: Pipeline | undefined;
async function open(options?: PipelineOptions): Promise<Pipeline> {
  pipeline = await Pipeline.open(options);
  return pipeline;
}
afterEach(async () => {
  await pipeline?.close();
});

const metadataOf = (object: unknown): KubeObject['metadata'] => (object as KubeObject).metadata;

/** A store that calls the test between the read and the write of the next update. */
function interrupted(storage: Storage, before: { run: (() => Promise<void>) | undefined }): Storage {
  return new Proxy(storage, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'update' && name !== 'delete') return value.bind(target) as unknown;
      return async (...parameters: unknown[]) => {
        const { run } = before;
        before.run = undefined;
        await run?.();
        return (value as (...all: unknown[]) => unknown).apply(target, parameters);
      };
    },
  });
}

/** A store whose cache observes changes when the test releases them, like that of another replica. */
function behind(storage: Storage, hold: { until: Promise<void> | undefined }): Storage {
  return new Proxy(storage, {
    get(target, name) {
      if (name === 'localRevision') return undefined;
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'watch') return value.bind(target) as unknown;
      return async function* (...parameters: Parameters<Storage['watch']>) {
        for await (const batch of target.watch(...parameters)) {
          await hold.until;
          yield batch;
        }
      };
    },
  });
}

describe('a stale cache', () => {
  async function whileBehind(write: (on: Pipeline) => Promise<object>, then: (on: Pipeline) => Promise<object>) {
    const hold: { until: Promise<void> | undefined } = { until: undefined };
    const on = await open({ storage: (memory) => behind(memory, hold) });
    const metadata = { name: 'a', finalizers: ['example.com/f'] };
    await on.must(201, 'POST', maps, { metadata, data: { k: 'first' } });
    await on.must(200, 'DELETE', `${maps}/a`);
    await on.must(200, 'GET', `${maps}/a`);
    const { promise, resolve } = Promise.withResolvers<void>();
    hold.until = promise;
    const written = await write(on);
    const answer = then(on);
    // As far as it gets without the cache.
    await eventLoopIdle();
    hold.until = undefined;
    resolve();
    return { on, written, answer: await answer };
  }
  const put = (value: string) => (on: Pipeline) =>
    on.must(200, 'PATCH', `${maps}/a`, { data: { k: value } }, mergePatch);

  test('does not swallow an update that reverts a concurrent change', async () => {
    const { on, answer } = await whileBehind(put('second'), put('first'));
    expect(answer).toMatchObject({ data: { k: 'first' } });
    expect(await on.must(200, 'GET', `${maps}/a`)).toEqual(answer);
  });

  test('a repeated delete returns the current object', async () => {
    const { written, answer } = await whileBehind(put('second'), (on) => on.must(200, 'DELETE', `${maps}/a`));
    expect(answer).toEqual(written);
  });
});

describe('create', () => {
  test('sets uid, creationTimestamp, namespace, cluster annotation and resourceVersion', async () => {
    const { must, body } = await created(await open(), { name: 'a' });
    expect(metadataOf(body)).toEqual({
      name: 'a',
      namespace: 'default',
      uid: expect.any(String),
      resourceVersion: expect.stringMatching(/^\d+$/),
      creationTimestamp: '2026-01-02T03:04:05Z',
      annotations: { 'kcp.io/cluster': 'root' },
    });
    expect(await must(200, 'GET', `${maps}/a`)).toEqual(body);
  });

  async function created(on: Pipeline, metadata: object): Promise<{ must: Pipeline['must']; body: object }> {
    return { must: on.must.bind(on), body: await on.must(201, 'POST', maps, { metadata }) };
  }

  test('overwrites a cluster annotation of the client', async () => {
    const { body } = await created(await open(), { name: 'a', annotations: { 'kcp.io/cluster': 'other', x: 'y' } });
    expect(metadataOf(body).annotations).toEqual({ 'kcp.io/cluster': 'root', x: 'y' });
  });

  test('retries a generated name that is taken, up to eight times', async () => {
    const on = await open();
    let asked = 0;
    // Always the same letter: every generated name is the same.
    (on.store.modules as { random?: (below: number) => number }).random = () => {
      asked++;
      return 0;
    };
    await on.must(201, 'POST', maps, { metadata: { generateName: 'g-' } });
    const answer = await on.ask('POST', maps, { metadata: { generateName: 'g-' } });
    expect(asked).toBe(5 + 8 * 5);
    expect(answer.status).toBe(409);
    expect(answer.body['message']).toBe(
      'configmaps "g-bbbbb" already exists, the server was not able to generate a unique name for the object',
    );
    expect(answer.headers['retry-after']).toBe('1');
  });

  test('mutating admission runs before validation and can make an object valid', async () => {
    const plugin: AdmissionPlugin = {
      name: 'Mend',
      handles: (operation) => operation === 'CREATE',
      admit: (attributes) => {
        if (attributes.object !== undefined && attributes.definition.resource === 'configmaps')
          attributes.object.metadata.labels = { mended: 'yes' };
        return Promise.resolve();
      },
    };
    const on = await open({ plugins: [plugin] });
    const body = await on.must(201, 'POST', maps, { metadata: { name: 'a', labels: { 'not a label': 'x' } } });
    expect(metadataOf(body).labels).toEqual({ mended: 'yes' });
  });

  test('a dry run stores nothing and returns no resourceVersion', async () => {
    const on = await open();
    const body = await on.must(201, 'POST', `${maps}?dryRun=All`, { metadata: { name: 'a' } });
    expect(metadataOf(body).resourceVersion).toBeUndefined();
    await on.must(404, 'GET', `${maps}/a`);
  });

  test('rejects objects in missing or terminating namespaces', async () => {
    const on = await open();
    expect(
      (await on.must(404, 'POST', '/api/v1/namespaces/none/configmaps', { metadata: { name: 'a' } }))['message'],
    ).toBe('namespaces "none" not found');
    await on.must(200, 'DELETE', '/api/v1/namespaces/default').catch(() => undefined);
    await on.must(201, 'POST', '/api/v1/namespaces', { metadata: { name: 'ending' } });
    await on.must(200, 'DELETE', '/api/v1/namespaces/ending');
    const refused = await on.must(403, 'POST', '/api/v1/namespaces/ending/configmaps', { metadata: { name: 'a' } });
    expect(refused['message']).toBe(
      'configmaps "a" is forbidden: unable to create new content in namespace ending because it is being terminated',
    );
    expect(refused['details']).toMatchObject({
      causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace' }],
    });
  });
});

describe('update', () => {
  test('writes nothing if nothing changed', async () => {
    const on = await open();
    const before = await on.must(201, 'POST', maps, {
      metadata: { name: 'a', labels: { x: 'y', a: 'b' } },
      data: { k: 'v', l: 'w' },
    });
    const { revision } = on.cache;
    const after = await on.must(200, 'PUT', `${maps}/a`, {
      data: { l: 'w', k: 'v' },
      metadata: { labels: { a: 'b', x: 'y' }, name: 'a' },
    });
    expect(after).toEqual(before);
    expect(on.cache.revision).toBe(revision);
  });

  test('retries a conflict without a resourceVersion, and returns it with one', async () => {
    const before: { run: (() => Promise<void>) | undefined } = { run: undefined };
    const on = await open({ storage: (memory) => interrupted(memory, before) });
    const first = await on.must(201, 'POST', maps, { metadata: { name: 'a' }, data: { n: '0' } });
    const meanwhile = async (): Promise<void> => {
      await on.must(200, 'PATCH', `${maps}/a`, { data: { other: 'here' } }, mergePatch);
    };
    before.run = meanwhile;
    expect((await on.must(200, 'PATCH', `${maps}/a`, { data: { n: '1' } }, mergePatch))['data']).toEqual({
      n: '1',
      other: 'here',
    });

    const { resourceVersion } = metadataOf(await on.must(200, 'GET', `${maps}/a`));
    before.run = async () => {
      await on.must(200, 'PATCH', `${maps}/a`, { data: { other: 'again' } }, mergePatch);
    };
    const answer = await on.ask('PUT', `${maps}/a`, { metadata: { name: 'a', resourceVersion }, data: {} });
    expect(answer.status).toBe(409);
    expect(answer.body['message']).toContain('the object has been modified');
    expect(metadataOf(first).uid).toBe(metadataOf(await on.must(200, 'GET', `${maps}/a`)).uid);
  });

  test('of a missing object requires the verb create', async () => {
    const user = { name: 'u', uid: '', groups: [], extra: {} };
    const asked: string[] = [];
    const on = await open({
      user,
      authorizer: {
        authorize: (attributes) => {
          asked.push(`${attributes.verb} ${attributes.resource} ${attributes.namespace}/${attributes.name}`);
          return Promise.resolve({ decision: 'noOpinion', reason: '' });
        },
      },
    });
    const refused = await on.must(403, 'PUT', `${roles}/r`, { metadata: { name: 'r' }, rules: [] });
    expect(asked).toEqual(['create roles default/r']);
    expect(refused['message']).toBe(
      'roles.rbac.authorization.k8s.io "r" is forbidden: User "u" cannot create resource "roles" in API group "rbac.authorization.k8s.io" in the namespace "default"',
    );
    await on.must(404, 'GET', `${roles}/r`);
  });

  test('that removes the last finalizer deletes a terminating object', async () => {
    const on = await open();
    await on.must(201, 'POST', maps, { metadata: { name: 'a', finalizers: ['example.com/f'] } });
    const marked = await on.must(200, 'DELETE', `${maps}/a`);
    expect(metadataOf(marked)).toMatchObject({
      deletionTimestamp: '2026-01-02T03:04:05Z',
      deletionGracePeriodSeconds: 0,
    });
    await on.must(200, 'PATCH', `${maps}/a`, { metadata: { finalizers: null } }, mergePatch);
    await on.must(404, 'GET', `${maps}/a`);
  });
});

describe('delete', () => {
  test('checks preconditions again after a conflict', async () => {
    const before: { run: (() => Promise<void>) | undefined } = { run: undefined };
    const on = await open({ storage: (memory) => interrupted(memory, before) });
    const { resourceVersion } = metadataOf(await on.must(201, 'POST', maps, { metadata: { name: 'a' } }));
    before.run = async () => {
      await on.must(200, 'PATCH', `${maps}/a`, { data: { x: 'y' } }, mergePatch);
    };
    const answer = await on.ask('DELETE', `${maps}/a`, { preconditions: { resourceVersion } });
    expect(answer.status).toBe(409);
    await on.must(200, 'GET', `${maps}/a`);
  });

  test('runs admission in each attempt, after the preconditions', async () => {
    const plugin: AdmissionPlugin = {
      name: 'Keep',
      handles: (operation) => operation === 'DELETE',
      validate: (attributes) =>
        attributes.oldObject?.metadata.labels?.['keep'] === 'yes'
          ? Promise.reject(new Error('kept'))
          : Promise.resolve(),
    };
    const on = await open({ plugins: [plugin] });
    await on.must(201, 'POST', maps, { metadata: { name: 'a', labels: { keep: 'yes' } } });
    await on.must(409, 'DELETE', `${maps}/a`, { preconditions: { uid: 'other' } });
    await expect(on.ask('DELETE', `${maps}/a`)).rejects.toThrow('kept');
  });
});

describe('storage failures', () => {
  const failing = (error: Error): PipelineOptions => ({
    storage: (memory) =>
      new Proxy(memory, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== 'function') return value;
          if (name !== 'create') return value.bind(target) as unknown;
          return async (key: string, ...rest: unknown[]) => {
            if (key.includes('/configmaps/')) throw error;
            return (await Reflect.apply(value as (...all: unknown[]) => unknown, target, [key, ...rest])) as number;
          };
        },
      }),
  });

  test('a full store rejects writes with 507', async () => {
    const on = await open(failing(new StorageFullError()));
    expect((await on.ask('POST', maps, { metadata: { name: 'a' } })).status).toBe(507);
  });

  test('an unknown outcome is reported, and the write is not retried', async () => {
    const on = await open(failing(new OutcomeUnknownError('k', new Error('cut'))));
    const answer = await on.ask('POST', maps, { metadata: { generateName: 'a-' } });
    expect(answer.status).toBe(504);
    expect(answer.body['message']).toContain('may or may not have happened');
  });
});

import { afterEach, describe, expect, test } from '@jest/globals';
import { type JsonObject, type KubeObject } from '@multiplane/apimachinery';
import { Pipeline } from '../../../test/pipeline.ts';
import { ConversionHook, foo, fooDefinition, fooPath, specOf } from '../../../test/converted-foos.ts';

const mergePatch = { 'content-type': 'application/merge-patch+json' };

let pipeline: Pipeline;
let hook: ConversionHook;

async function open(storage?: 'v1' | 'v2', defaults?: boolean): Promise<void> {
  hook = new ConversionHook();
  pipeline = await Pipeline.open({ reviewer: hook });
  await pipeline.serve(fooDefinition(storage, defaults));
}
afterEach(async () => {
  await pipeline.close();
});

const itemsOf = (list: unknown): KubeObject[] => (list as { items: KubeObject[] }).items;

describe('reading another version', () => {
  test('calls the webhook once per revision and version', async () => {
    await open();
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 3 }));
    expect(hook.asked).toHaveLength(0);
    for (let turn = 0; turn < 2; turn++)
      expect(specOf(await pipeline.must(200, 'GET', fooPath('v2', '/a')))).toEqual({ metres: 3 });
    expect(hook.asked).toEqual([{ desired: 'example.com/v2', names: ['a'], list: false }]);
    expect(specOf(await pipeline.must(200, 'GET', fooPath('v1', '/a')))).toEqual({ size: 3, 'from-v1': true });
    expect(hook.asked).toHaveLength(1);
    await pipeline.must(200, 'PATCH', fooPath('v1', '/a'), { spec: { size: 4 } }, mergePatch);
    expect(specOf(await pipeline.must(200, 'GET', fooPath('v2', '/a')))).toEqual({ metres: 4 });
    expect(hook.asked).toHaveLength(2);
  });

  test('sends objects in their stored version, defaulted, without resourceVersion', async () => {
    await open();
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 3 }));
    await pipeline.must(200, 'GET', fooPath('v2', '/a'));
    const [sent] = hook.sent;
    expect(sent).toMatchObject({ apiVersion: 'example.com/v1', kind: 'Foo', spec: { size: 3, 'from-v1': true } });
    expect(sent?.metadata.resourceVersion).toBeUndefined();
    expect(sent?.metadata.uid).toBeDefined();
  });

  test('works for tables, metadata, status and scale', async () => {
    await open();
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 3 }));
    const table = await pipeline.must(200, 'GET', fooPath('v2', '/a'), undefined, {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    });
    expect((table['rows'] as { cells: unknown[] }[])[0]?.cells).toEqual(['a', 3]);
    expect(specOf(await pipeline.must(200, 'GET', fooPath('v2', '/a/status')))).toEqual({ metres: 3 });
    expect(specOf(await pipeline.must(200, 'GET', fooPath('v2', '/a/scale')))).toEqual({ replicas: 3 });
    const partial = await pipeline.must(200, 'GET', fooPath('v2', '/a'), undefined, {
      accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
    });
    expect((partial['metadata'] as JsonObject)['name']).toBe('a');
  });
});

describe('a list', () => {
  test('converts all objects of other versions in one call', async () => {
    await open('v1');
    for (const name of ['a', 'b']) await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', name, { size: 1 }));
    await pipeline.must(
      200,
      'PATCH',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.example.com',
      {
        spec: { versions: (specOf(fooDefinition('v2')) as JsonObject)['versions'] },
      },
      mergePatch,
    );
    await pipeline.must(201, 'POST', fooPath('v2'), foo('v2', 'c', { metres: 2 }));
    hook.asked.length = 0;
    const list = await pipeline.must(200, 'GET', fooPath('v2'));
    expect(itemsOf(list).map((item) => [item.metadata.name, item.apiVersion, specOf(item)])).toEqual([
      ['a', 'example.com/v2', { metres: 1 }],
      ['b', 'example.com/v2', { metres: 1 }],
      ['c', 'example.com/v2', { metres: 2, 'from-v2': true }],
    ]);
    expect(hook.asked).toEqual([{ desired: 'example.com/v2', names: ['a', 'b'], list: true }]);
  });

  test('fails as a whole if the webhook fails', async () => {
    await open();
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 1 }));
    hook.failure = 'conversion webhook for example.com/v1, Kind=Foo failed: no';
    const answer = await pipeline.ask('GET', fooPath('v2'));
    expect([answer.status, answer.body['reason'], answer.body['message']]).toEqual([500, undefined, hook.failure]);
    expect((await pipeline.ask('GET', fooPath('v1'))).status).toBe(200);
  });

  test('selects by fields of the requested version, over pages', async () => {
    await open();
    for (const [name, size] of [
      ['a', 1],
      ['b', 2],
      ['c', 1],
    ] as const)
      await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', name, { size }));
    const first = await pipeline.must(200, 'GET', fooPath('v2', '?fieldSelector=spec.metres%3D1&limit=1'));
    expect(itemsOf(first).map(({ metadata }) => metadata.name)).toEqual(['a']);
    const token = encodeURIComponent((first['metadata'] as { continue: string }).continue);
    const second = await pipeline.must(
      200,
      'GET',
      fooPath('v2', `?fieldSelector=spec.metres%3D1&limit=1&continue=${token}`),
    );
    expect(itemsOf(second).map(({ metadata }) => metadata.name)).toEqual(['c']);
  });
});

describe('writing another version', () => {
  test('stores the converted object and returns what a read would', async () => {
    await open();
    const created = await pipeline.must(201, 'POST', fooPath('v2'), foo('v2', 'a', { metres: 5 }));
    expect(hook.asked.map(({ desired }) => desired)).toEqual(['example.com/v1', 'example.com/v2']);
    // Defaults of both versions are set only where their schemas have them.
    expect(specOf(created)).toEqual({ metres: 5 });
    expect(specOf(await pipeline.must(200, 'GET', fooPath('v1', '/a')))).toEqual({ size: 5, 'from-v1': true });
  });

  test('updates, patches, applies and deletes through the webhook', async () => {
    await open();
    const created = await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 1 }));
    const seen = await pipeline.must(200, 'GET', fooPath('v2', '/a'));
    await pipeline.must(200, 'PUT', fooPath('v2', '/a'), { ...seen, spec: { metres: 2 } });
    expect(specOf(await pipeline.must(200, 'GET', fooPath('v1', '/a')))).toMatchObject({ size: 2 });
    await pipeline.must(200, 'PATCH', fooPath('v2', '/a'), { spec: { metres: 3 } }, mergePatch);
    expect(specOf(await pipeline.must(200, 'GET', fooPath('v1', '/a')))).toMatchObject({ size: 3 });
    await pipeline.must(200, 'PUT', fooPath('v2', '/a/scale'), {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'a' },
      spec: { replicas: 6 },
    });
    expect(specOf(await pipeline.must(200, 'GET', fooPath('v1', '/a')))).toMatchObject({ size: 6 });
    await pipeline.must(200, 'PATCH', fooPath('v2', '/a?fieldManager=me&force=true'), foo('v2', 'a', { metres: 4 }), {
      'content-type': 'application/apply-patch+yaml',
    });
    const applied = await pipeline.must(200, 'GET', fooPath('v1', '/a'));
    expect(specOf(applied)).toMatchObject({ size: 4 });
    expect((applied['metadata'] as JsonObject)['uid']).toBe((created['metadata'] as JsonObject)['uid']);
    const { body } = await pipeline.ask('DELETE', fooPath('v2', '/a'));
    expect(body['status']).toBe('Success');
  });

  test('an update that changes nothing writes nothing, in any version', async () => {
    await open('v1', false);
    await pipeline.must(201, 'POST', fooPath('v2'), foo('v2', 'a', { metres: 1 }));
    const seen = await pipeline.must(200, 'GET', fooPath('v2', '/a'));
    const written = await pipeline.must(200, 'PUT', fooPath('v2', '/a'), seen);
    expect((written['metadata'] as JsonObject)['resourceVersion']).toBe(
      (seen['metadata'] as JsonObject)['resourceVersion'],
    );
  });

  test('rejects all writes if the conversion fails', async () => {
    await open();
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 1 }));
    hook.failure = 'conversion webhook for example.com/v1, Kind=Foo failed: no';
    const scale = { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: { name: 'a' }, spec: { replicas: 1 } };
    const attempts: [string, string, unknown, Record<string, string>?][] = [
      ['GET', fooPath('v2', '/a'), undefined],
      ['POST', fooPath('v2'), foo('v2', 'b', { metres: 1 })],
      ['POST', fooPath('v2', '?dryRun=All'), foo('v2', 'b', { metres: 1 })],
      ['PUT', fooPath('v2', '/a'), foo('v2', 'a', { metres: 1 })],
      ['PATCH', fooPath('v2', '/a'), { spec: { metres: 2 } }, mergePatch],
      ['DELETE', fooPath('v2', '/a'), undefined],
      ['DELETE', fooPath('v2'), undefined],
      ['GET', fooPath('v2', '/a/status'), undefined],
      ['GET', fooPath('v2', '/a/scale'), undefined],
      ['PUT', fooPath('v2', '/a/scale'), scale],
    ];
    for (const [method, where, body, headers] of attempts) {
      const answer = await pipeline.ask(method, where, body, headers);
      expect([method, where, answer.status, answer.body['message']]).toEqual([method, where, 500, hook.failure]);
    }
    hook.failure = undefined;
    expect(itemsOf(await pipeline.must(200, 'GET', fooPath('v1'))).map(({ metadata }) => metadata.name)).toEqual(['a']);
  });

  test('keeps managedFields across versions', async () => {
    await open();
    const apply = { 'content-type': 'application/apply-patch+yaml' };
    await pipeline.must(201, 'PATCH', fooPath('v1', '/a?fieldManager=one'), foo('v1', 'a', { size: 1 }), apply);
    const conflict = await pipeline.ask(
      'PATCH',
      fooPath('v2', '/a?fieldManager=two'),
      foo('v2', 'a', { metres: 2 }),
      apply,
    );
    expect(conflict.status).toBe(409);
    await pipeline.must(
      200,
      'PATCH',
      fooPath('v2', '/a?fieldManager=two&force=true'),
      foo('v2', 'a', { metres: 2 }),
      apply,
    );
    const { metadata } = (await pipeline.must(200, 'GET', fooPath('v2', '/a'))) as unknown as KubeObject;
    const owners = (metadata.managedFields as JsonObject[]).map(({ manager, apiVersion, fieldsV1 }) => [
      manager,
      apiVersion,
      Object.keys(((fieldsV1 as JsonObject)['f:spec'] ?? {}) as JsonObject),
    ]);
    expect(owners).toContainEqual(['two', 'example.com/v2', ['f:metres']]);
    expect(owners.filter(([manager]) => manager === 'one').flatMap(([, , fields]) => fields)).not.toContain('f:size');
  });
});

describe('the storage version', () => {
  test('can change: old objects are converted on read, and rewritten on update', async () => {
    await open('v1');
    await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', { size: 1 }));
    const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.example.com';
    const { versions } = specOf(fooDefinition('v2')) as JsonObject;
    const changed = await pipeline.must(200, 'PATCH', crd, { spec: { versions } }, mergePatch);
    expect((changed['status'] as JsonObject)['storedVersions']).toEqual(['v1', 'v2']);
    const seen = await pipeline.must(200, 'GET', fooPath('v2', '/a'));
    expect(specOf(seen)).toEqual({ metres: 1 });
    expect(hook.asked).toHaveLength(1);
    // A write that changes nothing for the client rewrites an object in the old storage version.
    const written = await pipeline.must(200, 'PUT', fooPath('v2', '/a'), seen);
    expect((written['metadata'] as JsonObject)['resourceVersion']).not.toBe(
      (seen['metadata'] as JsonObject)['resourceVersion'],
    );
    hook.asked.length = 0;
    await pipeline.must(200, 'GET', fooPath('v2', '/a'));
    expect(hook.asked).toHaveLength(0);
    expect(specOf(await pipeline.must(200, 'GET', fooPath('v1', '/a')))).toMatchObject({ size: 1 });
    expect(hook.asked).toHaveLength(1);
  });
});

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fooDefinition, fooPath, foo } from '../../../test/converted-foos.ts';
import { Pipeline } from '../../../test/pipeline.ts';

const merge = { 'content-type': 'application/merge-patch+json' };
const scale = fooPath('v1', '/a/scale');

let pipeline: Pipeline;
beforeEach(async () => {
  pipeline = await Pipeline.open();
  await pipeline.serve(fooDefinition('v1', false));
  await pipeline.must(201, 'POST', fooPath('v1'), foo('v1', 'a', {}));
});
afterEach(() => pipeline.close());

describe('the scale of a custom resource without replicas', () => {
  test('cannot be read', async () => {
    const refused = await pipeline.must(500, 'GET', scale);
    expect(refused['message']).toMatch(/the spec replicas field "\.spec\..*" does not exist$/);
  });

  test('can be set by an update', async () => {
    const body = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'a' }, spec: { replicas: 2 } };
    expect(await pipeline.must(200, 'PUT', scale, body)).toMatchObject({ spec: { replicas: 2 } });
    expect(await pipeline.must(200, 'GET', scale)).toMatchObject({ spec: { replicas: 2 } });
  });

  test('can be set by a patch, which must contain replicas', async () => {
    const refused = await pipeline.must(400, 'PATCH', scale, {}, merge);
    expect(refused['message']).toMatch(/^the spec replicas field "\.spec\..*" cannot be empty$/);
    const patched = await pipeline.must(200, 'PATCH', scale, { spec: { replicas: 3 } }, merge);
    expect(patched).toMatchObject({ spec: { replicas: 3 } });
  });
});

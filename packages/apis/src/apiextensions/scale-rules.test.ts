import { expect, test } from '@jest/globals';
import type { Json, KubeObject } from '@multiplane/apimachinery';
import { scaleSpecErrors, scaleStatusErrors } from './scale-rules.ts';

const rules = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
const widget = (members: Record<string, Json>): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'a' },
  ...members,
});

test.each<[Json, string]>([
  [0, '.spec.replicas accessor error: 0 is of the type int64, expected map[string]interface{}'],
  ['x', '.spec.replicas accessor error: x is of the type string, expected map[string]interface{}'],
  [[1, 'a'], '.spec.replicas accessor error: [1 a] is of the type []interface {}, expected map[string]interface{}'],
  [{ replicas: 'x' }, '.spec.replicas accessor error: x is of the type string, expected int64'],
  [
    { replicas: { b: 1, a: null } },
    '.spec.replicas accessor error: map[a:<nil> b:1] is of the type map[string]interface {}, expected int64',
  ],
  [{ replicas: null }, '.spec.replicas accessor error: <nil> is of the type <nil>, expected int64'],
])('spec %j', (spec, detail) => {
  expect(scaleSpecErrors(widget({ spec }), rules)).toMatchObject([{ field: '.spec.replicas', value: 0, detail }]);
});

test.each<[Record<string, Json>]>([[{}], [{ spec: null }], [{ spec: {} }], [{ spec: { replicas: 1 } }]])(
  '%j has no errors',
  (members) => {
    expect(scaleSpecErrors(widget(members), rules)).toEqual([]);
    expect(scaleStatusErrors(widget(members), rules)).toEqual([]);
  },
);

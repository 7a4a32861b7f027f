import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fieldAt, scalarText, scanField } from './field-scanner.ts';
import { encodeForStorage } from './object-codec.ts';

const stored = (spec: unknown): Buffer =>
  encodeForStorage({
    apiVersion: 'v1',
    kind: 'K',
    metadata: { name: 'a', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec,
    status: { class: 'no' },
  });

test.each([
  [{ class: 'x' }, 'x'],
  [{ before: { class: 'no' }, class: 'x"y\\', after: ['class'] }, 'x"y\\'],
  [{ class: 7 }, '7'],
  [{ class: false }, 'false'],
  [{ class: '' }, undefined],
  [{ class: null }, undefined],
  [{ class: { class: 'no' } }, undefined],
  [{ class: ['no'] }, undefined],
  [{ Class: 'no' }, undefined],
  [{}, undefined],
  ['class', undefined],
  [undefined, undefined],
])('the field .spec.class of the spec %j is %j', (spec, text) => {
  expect(scanField(stored(spec), '.spec.class')).toBe(text);
});

test('a field is found below other fields, whatever stands around it', () => {
  const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean());
  const names = fc.constantFrom('a', 'b', 'c', 'class', 'é', '"');
  const tree = fc.dictionary(names, fc.oneof(scalar, fc.dictionary(names, scalar), fc.array(scalar)));
  fc.assert(
    fc.property(fc.dictionary(names, tree), (spec) => {
      for (const path of ['.spec.a.b', '.spec.class.class', '.spec.a', '.spec.a.b.c'])
        expect(scanField(stored(spec), path)).toBe(scalarText(fieldAt({ spec }, path)));
    }),
  );
});

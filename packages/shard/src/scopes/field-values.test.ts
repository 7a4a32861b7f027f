import { describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import type { AdmissionAttributes, StoredFields } from '@multiplane/apiserver';
import { FieldValues } from './field-values.ts';

const path = '.spec.class';

interface Case {
  /** What is stored; undefined: the object is new. */
  readonly stored?: JsonObject;
  /** What a client reads; absent: what is stored. */
  readonly read?: JsonObject;
  readonly sent: JsonObject;
  readonly subresource?: string;
  /** From the version of the request to the storage version; absent: the request has the storage version. */
  readonly convert?: (spec: JsonObject) => JsonObject;
  readonly type?: string;
}

const objectOf = (spec: JsonObject): KubeObject => ({ apiVersion: 'g/v1', kind: 'K', metadata: {}, spec });
const specOf = (object: unknown): JsonObject => ((object as JsonObject)['spec'] ?? {}) as JsonObject;

async function read(given: Case) {
  const { stored, read: shown = stored, sent, subresource = '', convert, type } = given;
  const admitted = new Map<string, unknown>();
  const storedFields = {
    protect: () => [path],
    isStoredVersion: convert === undefined,
    before: () => stored?.['class'],
    inStorage: (object: KubeObject) =>
      Promise.resolve(convert === undefined ? object : objectOf(convert(specOf(object)))),
    typeOf: () => type,
    admit: (at: string, value: unknown) => void admitted.set(at, value),
  } as unknown as StoredFields;
  const object = objectOf(structuredClone(sent));
  const subresources = { scale: { type: 'scale' }, status: { type: 'object' } };
  const attributes = {
    definition: { subresources, fieldSelectors: {} },
    subresource,
    object,
    oldObject: shown === undefined ? undefined : objectOf(shown),
    storedFields,
  } as unknown as AdmissionAttributes;
  const values = (await FieldValues.read(attributes)) as FieldValues;
  return { values, admitted, object };
}

describe('the value of a field that a write asks for', () => {
  test.each<[string, Case, string | undefined, string | undefined, boolean]>([
    ['a create', { sent: { class: 'x' } }, undefined, 'x', false],
    ['a create without it', { sent: {} }, undefined, undefined, false],
    ['a change', { stored: { class: 'x' }, sent: { class: 'y' } }, 'x', 'y', false],
    ['a removal', { stored: { class: 'x' }, sent: {} }, 'x', undefined, false],
    ['the empty text', { stored: { class: 'x' }, sent: { class: '' } }, 'x', undefined, false],
    ['a number', { stored: { class: 1 }, sent: { class: 2 } }, '1', '2', false],
    ['a default of a newer schema', { stored: {}, read: { class: 'y' }, sent: { class: 'y' } }, undefined, 'y', true],
    ['a change of a default', { stored: {}, read: { class: 'y' }, sent: { class: 'z' } }, undefined, 'z', false],
    ['a field that the schema pruned', { stored: { class: 'x' }, read: {}, sent: { size: 1 } }, 'x', 'x', false],
    ['a version without it', { stored: { class: 'x' }, read: {}, sent: {}, convert: () => ({}) }, 'x', 'x', false],
    [
      'a version that renames it',
      {
        stored: { class: 'x' },
        read: { name: 'x' },
        sent: { name: 'y' },
        convert: ({ name }) => ({ class: name ?? null }),
      },
      'x',
      'y',
      false,
    ],
    [
      'a conversion that changes it',
      { stored: { class: 'x' }, read: {}, sent: { size: 1 }, convert: () => ({ class: 'y' }) },
      'x',
      'x',
      false,
    ],
    ['a status', { stored: { class: 'x' }, sent: { class: 'y' }, subresource: 'status' }, 'x', 'x', false],
    ['a scale', { stored: { class: 1 }, sent: { class: 2 }, subresource: 'scale' }, '1', '2', false],
  ])('of %s', async (_what, given, before, after, isDefaulted) => {
    const { values } = await read(given);
    expect([values.before(path), values.after(path), values.isDefaulted(path)]).toEqual([before, after, isDefaulted]);
  });

  test('is admitted and shown as the rules have left it', async () => {
    const asked = await read({ stored: { class: 'x' }, sent: { class: 'y' } });
    asked.values.admit();
    expect([asked.admitted.get(path), specOf(asked.object)]).toEqual(['y', { class: 'y' }]);
    const kept = await read({ stored: { class: 'x' }, sent: { class: 'y', size: 1 } });
    kept.values.set(path, 'x');
    kept.values.admit();
    expect([[...kept.admitted], specOf(kept.object)]).toEqual([[], { class: 'x', size: 1 }]);
    const given = await read({ sent: {}, type: 'integer' });
    given.values.set(path, '7');
    given.values.admit();
    expect([given.admitted.get(path), specOf(given.object)]).toEqual([7, { class: 7 }]);
    const flag = await read({ sent: {}, type: 'boolean' });
    flag.values.set(path, 'true');
    flag.values.admit();
    expect(flag.admitted.get(path)).toBe(true);
  });

  test('is not admitted where the conversion fails, which the write path reports', async () => {
    const { values, admitted } = await read({
      stored: { class: 'x' },
      sent: { class: 'y' },
      convert: () => {
        throw new Error('no such rule');
      },
    });
    values.admit();
    expect([values.after(path), admitted.size]).toEqual(['x', 0]);
  });

  test('in another version is stored, and not shown where the version does not have the field', async () => {
    const { values, admitted, object } = await read({ sent: { name: 'n' }, convert: () => ({}) });
    values.set(path, 'x');
    values.admit();
    expect([admitted.get(path), specOf(object)]).toEqual(['x', { name: 'n' }]);
  });
});

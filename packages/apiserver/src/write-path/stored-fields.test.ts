import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { RequestWork } from '@multiplane/component-base';
import type { ObjectReader } from '../registry/store/object-reader.ts';
import { StoredFields } from './stored-fields.ts';

const object = (spec: object | undefined): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Thing',
  metadata: { name: 'a' },
  ...(spec === undefined ? {} : { spec }),
});

const source = { properties: { spec: { properties: { class: { type: 'string' }, size: { type: 'integer' } } } } };
const fieldsOf = (current: KubeObject | undefined, more: Partial<ResourceDefinition> = {}): StoredFields => {
  const fields = new StoredFields(
    { definition: { schema: { source }, ...more } as unknown as ResourceDefinition },
    {
      protectedFields: { of: () => ['.spec.class', '.spec.deep.size'] },
      reader: { isStoredVersion: () => true } as unknown as ObjectReader,
      current: () => current,
      work: new RequestWork(),
    },
  );
  fields.protect();
  return fields;
};

describe('protected fields', () => {
  test('keep their stored values, which a version of the request or a schema has lost', () => {
    const fields = fieldsOf(object({ class: 'x', deep: { size: 3, other: 1 }, more: 1 }));
    expect(fields.applyTo(object({ more: 2 }))).toEqual(object({ more: 2, class: 'x', deep: { size: 3 } }));
    expect(fields.applyTo(object(undefined))).toEqual(object({ class: 'x', deep: { size: 3 } }));
    expect(fields.applyTo(object({ class: 'y', deep: { size: 4 } }))).toEqual(
      object({ class: 'x', deep: { size: 3 } }),
    );
  });

  test('do not get values that admission has not admitted', () => {
    expect(fieldsOf(undefined).applyTo(object({ class: 'x' }))).toEqual(object({}));
    expect(fieldsOf(object({})).applyTo(object({ class: 'x', deep: { size: 1, other: 1 } }))).toEqual(
      object({ deep: { other: 1 } }),
    );
  });

  test('get the values that admission has admitted, until it runs again', () => {
    const fields = fieldsOf(object({ class: 'x' }));
    fields.admit('.spec.class', 'y');
    fields.admit('.spec.deep.size', 5);
    expect(fields.applyTo(object({}))).toEqual(object({ class: 'y', deep: { size: 5 } }));
    expect(fields.protect()).toEqual(['.spec.class', '.spec.deep.size']);
    expect(fields.applyTo(object({ class: 'y' }))).toEqual(object({ class: 'x' }));
  });

  test('do not change an object that has them already, nor the one that is given', () => {
    const fields = fieldsOf(object({ class: 'x' }));
    const same = object({ class: 'x', other: 1 });
    expect(fields.applyTo(same)).toBe(same);
    const frozen = object(Object.freeze({ class: 'y' }));
    expect(fields.applyTo(frozen)).toEqual(object({ class: 'x' }));
    expect(frozen).toEqual(object({ class: 'y' }));
    // The empty text and a missing field are both no value.
    const empty = object({ class: '' });
    expect(fieldsOf(object({})).applyTo(empty)).toBe(empty);
  });

  test('have the type that the schema of the storage version gives them', () => {
    expect(fieldsOf(undefined).typeOf('.spec.size')).toBe('integer');
    expect(fieldsOf(undefined).typeOf('.spec.none.at.all')).toBeUndefined();
    const stored = { source: { properties: { spec: { properties: { size: { type: 'boolean' } } } } } };
    const more = {
      storage: { group: 'g', version: 'v1' },
      schemaOf: (version: string) => (version === 'g/v1' ? stored : undefined),
    };
    expect(fieldsOf(undefined, more as unknown as Partial<ResourceDefinition>).typeOf('.spec.size')).toBe('boolean');
  });
});

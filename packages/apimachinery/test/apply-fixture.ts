import type { JsonObject } from '../src/json/json.ts';
import { FieldSet } from '../src/apply/field-set.ts';
import { fieldElement } from '../src/apply/path-element.ts';
import type { Managers } from '../src/apply/managed-fields.ts';
import { type TypedSchema, deducedSchema } from '../src/apply/typed-schema.ts';
import { type Applied, type VersionedViews, applyAtOnce, managersAfterUpdate } from '../src/apply/update-managers.ts';

const scalar = (type: TypedSchema['scalar']): TypedSchema => ({ scalar: type, list: undefined, map: undefined });
export const text = scalar('string');
export const numeric = scalar('numeric');
export const struct = (fields: Readonly<Record<string, TypedSchema>>, atomic = false): TypedSchema => ({
  scalar: undefined,
  list: undefined,
  map: { atomic, fields: new Map(Object.entries(fields)), element: undefined },
});
export const mapOf = (element: TypedSchema, atomic = false): TypedSchema => ({
  scalar: undefined,
  list: undefined,
  map: { atomic, fields: new Map(), element },
});
export const listOf = (element: TypedSchema, keys?: readonly string[]): TypedSchema => ({
  scalar: undefined,
  list: { atomic: keys === undefined, keys: keys ?? [], element },
  map: undefined,
});

/** An object with every kind of field. */
export const everything = struct({
  name: text,
  n: numeric,
  free: deducedSchema,
  labels: mapOf(text),
  whole: mapOf(text, true),
  plain: listOf(text),
  tags: listOf(text, []),
  ports: listOf(struct({ port: numeric, protocol: { ...text, default: 'TCP' }, note: text }), ['port', 'protocol']),
  inner: struct({ a: text, b: text, deep: struct({ c: text }) }),
});

export const oneVersion: VersionedViews = { schema: () => undefined, convert: () => undefined };
const all = (set: FieldSet): FieldSet => set;

/** Paths as dots and brackets are too long for tests: `spec.a` is `f:spec`, `f:a`; other elements are written out. */
export const paths = (...texts: readonly string[]): FieldSet =>
  FieldSet.of(
    ...texts.map((path) => path.split('/').map((part) => (/^[kvi]:/.test(part) ? part : fieldElement(part)))),
  );

/** An object and who owns what in it, as clients with names change both. */
export class Owned {
  object: JsonObject = {};
  managers: Managers = new Map();
  readonly schema: TypedSchema;

  constructor(schema: TypedSchema = everything) {
    this.schema = schema;
  }

  apply(manager: string, config: JsonObject, force = false): Applied {
    const applied = applyAtOnce(
      {
        live: { value: this.object, schema: this.schema },
        apiVersion: 'v1',
        managers: this.managers,
        manager,
        views: oneVersion,
        filter: all,
      },
      config,
      force,
    );
    this.object = applied.object ?? this.object;
    this.managers = applied.managers;
    return applied;
  }

  update(manager: string, object: JsonObject): void {
    const { managers, taken } = managersAfterUpdate(
      {
        live: { value: this.object, schema: this.schema },
        apiVersion: 'v1',
        managers: this.managers,
        manager,
        views: oneVersion,
        filter: all,
      },
      { value: object, schema: this.schema },
    );
    const set = (managers.get(manager)?.set ?? FieldSet.empty).union(taken);
    this.managers = set.isEmpty ? managers : new Map(managers).set(manager, { set, apiVersion: 'v1', applied: false });
    this.object = object;
  }

  owns(manager: string): FieldSet {
    return this.managers.get(manager)?.set ?? FieldSet.empty;
  }
}

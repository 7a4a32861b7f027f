// The longest synchronous stage of a write, by the number of values of the object. Run: hack/bench/run write-stages
// Milliseconds of this thread's work, the middle one of five runs, for each shape of object and at last the worst shape of each stage.
// Arguments: sizes (10000,50000), part of the name of a shape.
import type { FieldSet } from '@multiplane/apimachinery';
import {
  type Json,
  type JsonObject,
  type KubeObject,
  applyAtOnce,
  compareTyped,
  decodeManagedFields,
  deepCopy,
  deepEqual,
  deepFreeze,
  encodeJson,
  encodeManagedFields,
  encodeYaml,
  fieldSetOf,
  managersAfterUpdate,
  parseJson,
  parseJsonStrict,
  parseYaml,
  applyMergePatch,
  validateTyped,
  type Managed,
} from '@multiplane/apimachinery';
import { encodeForStorage } from '@multiplane/apiserver';
import { compileSchema } from '@multiplane/schema';
import { threadTime } from './thread-time.ts';

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const shuffled = (index: number, count: number): number => (index * 7_919) % count;
const free = { 'x-kubernetes-preserve-unknown-fields': true };
const shapes: Record<string, { readonly schema: JsonObject; readonly value: (n: number) => Json }> = {
  'members of a free object': {
    schema: { type: 'object', ...free },
    value: (n) => Object.fromEntries(times(n, (i) => [`m${i}`, ''])),
  },
  'members of a map': {
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    value: (n) => Object.fromEntries(times(n, (i) => [`m${shuffled(i, n)}`, ''])),
  },
  'members in objects of 10': {
    schema: { type: 'object', additionalProperties: { type: 'object', additionalProperties: { type: 'string' } } },
    value: (n) =>
      Object.fromEntries(times(n / 11, (i) => [`m${i}`, Object.fromEntries(times(10, (k) => [`k${k}`, `v${i}`]))])),
  },
  'items of a set': {
    schema: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
    value: (n) => times(n, (i) => `f${shuffled(i, n)}`),
  },
  'items of a keyed list, two values each': {
    schema: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    },
    value: (n) => times(n / 2, (i) => ({ name: `n${shuffled(i, n >> 1)}` })),
  },
  'items with five values, keyed by two': {
    schema: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
      items: {
        type: 'object',
        required: ['port', 'protocol'],
        properties: {
          port: { type: 'integer' },
          protocol: { type: 'string', default: 'TCP' },
          a: { type: 'string' },
          b: { type: 'boolean' },
        },
      },
    },
    value: (n) => times(n / 5, (i) => ({ port: i, protocol: 'TCP', a: `x${i}`, b: true })),
  },
  'empty objects of a free list': {
    schema: { type: 'array', items: { type: 'object', ...free } },
    value: (n) => times(n, () => ({})),
  },
  'numbers of an atomic list': {
    schema: { type: 'array', items: { type: 'integer' } },
    value: (n) => times(n, (i) => i),
  },
  fractions: { schema: { type: 'array', items: { type: 'number' } }, value: (n) => times(n, () => 1.5) },
  nested: {
    schema: { type: 'object', ...free },
    value: (n) => times(n / 900, () => times(900, () => 0).reduce<JsonObject>((inner) => ({ a: inner }), {})) as Json,
  },
};
const onlyShape = process.argv[3];
const sizes = (process.argv[2] ?? '10000,50000,100000,200000').split(',').map(Number);
const worst: Record<string, Record<number, [number, string]>> = {};
for (const n of sizes) {
  for (const [shape, { schema: part, value }] of Object.entries(shapes)) {
    if (onlyShape !== undefined && !shape.includes(onlyShape)) continue;
    const source: JsonObject = { type: 'object', properties: { spec: { type: 'object', properties: { x: part } } } };
    const schema = compileSchema(source, { origin: 'custom' });
    const { typed } = schema;
    const make = (changed: boolean): JsonObject => {
      const x = value(n);
      if (changed) {
        if (Array.isArray(x)) {
          if (x.length > 1) {
            const last = x.pop() as Json;
            x.unshift(last);
          }
        } else
          for (const key of Object.keys(x as object))
            if (typeof (x as JsonObject)[key] === 'string') (x as JsonObject)[key] = 'changed';
      }
      return { apiVersion: 'a/v1', kind: 'K', metadata: { name: 'n', uid: 'u', creationTimestamp: 'x' }, spec: { x } };
    };
    const text = JSON.stringify(make(false));
    const bytes = Buffer.from(text);
    const object = parseJson(bytes) as JsonObject;
    const other = make(true);
    const clean = { spec: object['spec'] as Json } as JsonObject;
    const otherClean = { spec: other['spec'] as Json } as JsonObject;
    const empty: JsonObject = {};
    let fields: FieldSet;
    try {
      fields = fieldSetOf(clean, typed);
    } catch (error) {
      console.log(`${n} ${shape}: ${(error as Error).message}`);
      continue;
    }
    const managed = (applied: boolean, set = fieldSetOf(clean, typed)): Managed => ({
      managers: new Map([['{"manager":"one"}', { set, apiVersion: 'a/v1', applied }]]),
      times: new Map(),
    });
    const views = { schema: () => typed, convert: (o: never) => o } as never;
    const update = (live: JsonObject, managers: Managed['managers'], manager: string) => ({
      live: { value: live, schema: typed },
      apiVersion: 'a/v1',
      managers,
      manager,
      views,
      filter: (s: FieldSet) => s,
    });
    const managedSets = times(10, () => managed(true));
    const entriesText = JSON.stringify(encodeManagedFields(managed(true), true));
    const documents = times(5, () => parseJson(entriesText));
    const stages: Record<string, () => unknown> = {
      parse: () => parseJson(bytes),
      parseStrict: () => parseJsonStrict(bytes),
      parseWithDetails: () => parseJsonStrict(bytes, { details: { literals: new Map(), repeats: new Map() } }),
      prune: () => schema.prune(object),
      applyDefaults: () => schema.applyDefaults(object),
      validate: () => schema.validate(object),
      decodeTyped: () => schema.decodeTyped(object),
      deepCopy: () => deepCopy(object),
      deepFreeze: () => deepFreeze(parsed.pop() as never),
      deepEqual: () => deepEqual(object, copies.pop()),
      mergePatch: () => applyMergePatch(object, { metadata: { labels: { a: 'b' } } }),
      mergePatchAll: () => applyMergePatch(object, other),
      fieldSetOf: () => fieldSetOf(clean, typed),
      validateTyped: () => validateTyped(clean, typed),
      compareTyped: () => compareTyped(clean, otherClean, typed),
      compareNew: () => compareTyped(empty, clean, typed),
      update: () =>
        managersAfterUpdate(update(clean, managed(false, fields).managers, '{"manager":"two"}'), {
          value: otherClean,
          schema: typed,
        }),
      apply: () => applyAtOnce(update(clean, managed(true, fields).managers, '{"manager":"one"}'), otherClean, true),
      applyTakesAway: () =>
        applyAtOnce(update(clean, managed(true, fields).managers, '{"manager":"one"}'), { spec: {} }, true),
      applyCreates: () => applyAtOnce(update(empty, new Map(), '{"manager":"one"}'), clean, true),
      encodeManaged: () => encodeManagedFields(managedSets.pop() as Managed, true),
      encodeManagedBuiltIn: () => encodeManagedFields(managedSets.pop() as Managed, false),
      decodeManaged: () => decodeManagedFields(documents.pop() as never),
      encode: () => encodeJson(object),
      encodeForStorage: () => encodeForStorage(object as unknown as KubeObject, Infinity),
      encodeYaml: () => encodeYaml(object),
      parseJsonAsYaml: () => parseYaml(text),
    };
    const parsed = times(8, () => parseJson(bytes));
    const copies = times(8, () => deepCopy(object));
    const figures: string[] = [];
    for (const [stage, run] of Object.entries(stages)) {
      const taken: number[] = [];
      for (let at = 0; at < 5; at++) {
        (globalThis as { gc?: () => void }).gc?.();
        const begin = threadTime();
        try {
          run();
        } catch (error) {
          figures.push(`${stage}: ${(error as Error).message.slice(0, 60)}`);
          break;
        }
        taken.push(threadTime() - begin);
        if (stage === 'deepFreeze' && parsed.length < 2) break;
      }
      if (taken.length === 0) continue;
      const typical = taken.toSorted((a, b) => a - b)[taken.length >> 1] as number;
      figures.push(`${stage} ${typical.toFixed(0)}`);
      const row = (worst[stage] ??= {});
      if ((row[n]?.[0] ?? 0) < typical) row[n] = [typical, shape];
    }
    console.log(`${n} ${shape} (${(bytes.length / 1e6).toFixed(2)} MB): ${figures.join(', ')}`);
  }
}
console.log();
for (const [stage, row] of Object.entries(worst))
  console.log(
    stage.padEnd(22),
    sizes
      .map((n) => `${(row[n]?.[0] ?? 0).toFixed(0).padStart(5)} ms ${(row[n]?.[1] ?? '').slice(0, 30).padEnd(30)}`)
      .join(' '),
  );

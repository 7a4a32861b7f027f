import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import {
  asLogicalClusterName,
  fieldErrorText,
  statusErrors,
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { CustomResources, type SlowChecks, crdSpecErrors } from '@multiplane/apis';
import { systemClock, TimeSlicedQueue, EventLoopScheduler, type TimeSlices } from '@multiplane/component-base';
import { minInlineSteps, NotCompiled, OutOfPatience, type IsOverdue, type MayCompile } from '@multiplane/schema';
import { Pipeline } from '../../test/pipeline.ts';
import { SchemaWorker } from './schema-worker.ts';

const worker = new SchemaWorker({ clock: systemClock });
afterAll(() => worker.stop());

/** Those of one test; stopped also when it fails, or their threads keep the process of jest alive. */
const started: SchemaWorker[] = [];
function startWorker(modules: { readonly slices?: () => TimeSlices } = {}): SchemaWorker {
  const one = new SchemaWorker({ clock: systemClock, ...modules });
  started.push(one);
  return one;
}
afterEach(() => Promise.all(started.splice(0).map((one) => one.stop())));

const root = asLogicalClusterName('root');
const rule = (source: string, message: string): Json => [{ rule: source, message }];

function definition(spec: JsonObject): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'foos.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'foos', singular: 'foo', kind: 'Foo', listKind: 'FooList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  };
}

const foo = (spec: JsonObject): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Foo',
  metadata: { name: 'a', namespace: 'default' },
  spec,
});

/** Every item is compared with every other: quadratic in the size of the object. */
const quadratic: JsonObject = {
  type: 'object',
  properties: {
    list: { type: 'array', maxItems: 300, items: { type: 'string', maxLength: 20 } },
    note: { type: 'string', 'x-kubernetes-validations': rule('self != "old"', 'no old') },
  },
  'x-kubernetes-validations': rule('self.list.all(a, self.list.exists_one(b, a == b))', 'items must differ'),
};
const items = Array.from({ length: 300 }, (_, n) => `item-${n}`);

/** Time slices in which each clock read takes a millisecond: a slice compiles four patterns. */
function hurriedSlices(): TimeSlices {
  let now = 0;
  return new TimeSlicedQueue(
    new EventLoopScheduler({ now: () => now++, schedule: setImmediate }, { sliceMs: 4 }),
  ).timeSlices();
}

function strategyOf(spec: JsonObject): ReturnType<CustomResources['definitionsOf']>[number] {
  const [served] = new CustomResources().definitionsOf(definition(spec), new AbortController().signal);
  return served as ReturnType<CustomResources['definitionsOf']>[number];
}

describe('SchemaWorker', () => {
  test('returns the same errors as without a thread', async () => {
    const bad = definition({
      type: 'object',
      properties: { a: { type: 'string', 'x-kubernetes-validations': rule('self.nothing', '') } },
      'x-kubernetes-validations': Array.from({ length: 12 }, (_, n) => ({ rule: `has(self.x${n})` })),
    });
    const here = crdSpecErrors(bad, undefined);
    expect(here.length).toBeGreaterThan(12);
    expect((await worker.definition(root, bad, undefined)).map(fieldErrorText)).toEqual(here.map(fieldErrorText));
  });

  test('validates objects like the schema, with ratcheting warnings', async () => {
    const { schema } = strategyOf(quadratic);
    const twice = foo({ list: [...items.slice(0, 200), 'item-0'], note: 'old' });
    const old = foo({ list: ['x'], note: 'old' });
    for (let turn = 0; turn < 2; turn++) {
      const { errors, warnings } = await worker.object(root, schema, twice, { old });
      expect(errors.map(fieldErrorText)).toEqual(['spec: Invalid value: items must differ']);
      expect(warnings).toEqual(['spec.note: Invalid value: "old": no old']);
    }
    expect((await worker.object(root, schema, foo({ list: ['a'] }), {})).errors).toEqual([]);
  });

  test('a hundred thousand errors are counted, and a response has the same text as without a thread', async () => {
    const { schema } = strategyOf({
      type: 'object',
      properties: { list: { type: 'array', items: { type: 'string' } } },
    });
    const object = foo({ list: Array.from({ length: 100_000 }, (_, n) => n) });
    const here = schema.validate(object as unknown as JsonObject, {});
    const { errors } = await worker.object(root, schema, object, {});
    expect([errors.length, errors.length > 40_000]).toEqual([here.length, true]);
    const text = (all: readonly FieldError[]): string =>
      statusErrors.invalid({ group: 'example.com', kind: 'Foo' }, 'a', all).message;
    expect(text(errors)).toBe(text(here));
  });

  test('sends a schema again to a new thread', async () => {
    const other = startWorker();
    const { schema } = strategyOf(quadratic);
    const object = foo({ list: ['a', 'a'] });
    expect((await other.object(root, schema, object, {})).errors).toHaveLength(1);
    await other.stop();
    expect((await other.object(root, schema, object, {})).errors).toHaveLength(1);
  });

  test('serves clusters round-robin and returns 429 above the limit per cluster', async () => {
    const other = startWorker();
    const { schema } = strategyOf(quadratic);
    const ends: string[] = [];
    const send = (cluster: string): Promise<unknown> =>
      other.object(asLogicalClusterName(cluster), schema, foo({ list: items }), {}).then(
        () => ends.push(cluster),
        (error: unknown) => error,
      );
    // One is running, eight more are queued.
    const sent = Array.from({ length: 9 }, () => send('greedy'));
    const refused = await send('greedy');
    expect(refused).toMatchObject({ code: 429 });
    sent.push(send('modest'));
    await Promise.all(sent);
    expect(ends.indexOf('modest')).toBeLessThan(6);
    expect(ends).toHaveLength(10);
  });

  test('returns 503 for queued jobs on shutdown', async () => {
    const other = startWorker();
    const waiting = Promise.allSettled([other.definition(root, definition(quadratic), undefined)]);
    await other.stop();
    expect(await waiting).toMatchObject([{ status: 'rejected', reason: { code: 503 } }]);
  });
});

describe('a server with a SchemaWorker', () => {
  test('does not block the event loop for expensive rules', async () => {
    const asked: string[] = [];
    const slowly: SlowChecks = {
      definition: (...parameters) => worker.definition(...parameters),
      compiling: (check) => worker.compiling(check),
      object: (cluster, schema, object, options) => {
        asked.push(object.metadata.name ?? '');
        return worker.object(cluster, schema, object, options);
      },
    };
    const pipeline = await Pipeline.open({ slowly });
    await pipeline.serve(definition(quadratic));
    const path = '/apis/example.com/v1/namespaces/default/foos';
    const named = (name: string, list: string[]): object => ({ ...foo({ list }), metadata: { name } });
    await pipeline.must(201, 'POST', path, named('small', ['x', 'y']));
    expect(asked).toEqual([]);
    const refused = await pipeline.ask('POST', path, named('big', [...items.slice(0, 299), 'item-298']));
    expect(refused.status).toBe(422);
    expect(refused.body['message']).toBe('Foo.example.com "big" is invalid: spec: Invalid value: items must differ');
    expect(asked).toEqual(['big']);
    await pipeline.must(201, 'POST', path, named('good', items));
    await pipeline.close();
  });

  test('validates large CRDs in the thread with the same result', async () => {
    const pipeline = await Pipeline.open({ slowly: worker });
    const rules = (source: string): JsonObject => ({
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 12 }, (_, n) => [
          `f${n}`,
          { type: 'integer', 'x-kubernetes-validations': rule(source, 'm') },
        ]),
      ),
    });
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const refused = await pipeline.ask('POST', crds, definition(rules('self > "a"')));
    expect(refused.status).toBe(422);
    expect((refused.body['details'] as { causes: unknown[] }).causes).toHaveLength(12);
    await pipeline.must(201, 'POST', crds, definition(rules('self > 0')));
    await pipeline.close();
  });

  test('compiles patterns of a CRD and its first object in time slices with the same result', async () => {
    const turns: number[] = [];
    const slowly: SlowChecks = {
      definition: (...parameters) => worker.definition(...parameters),
      object: (...parameters) => worker.object(...parameters),
      compiling: (check) => {
        const place = turns.push(0) - 1;
        return hurried.compiling((mayCompile, isOverdue) => {
          turns[place] = (turns[place] ?? 0) + 1;
          return check(mayCompile, isOverdue);
        });
      },
    };
    const hurried = startWorker({ slices: hurriedSlices });
    const pipeline = await Pipeline.open({ slowly });
    const fields = (count: number, last: string): JsonObject => ({
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: count }, (_, n) => [
          `f${n}`,
          {
            type: 'string',
            pattern: n < count - 1 ? `^a{${n}}b?$` : last,
            ...(n < 8 ? { 'x-kubernetes-validations': rule(`size(self) != ${n}`, `not ${n}`) } : {}),
          },
        ]),
      ),
    });
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const refused = await pipeline.ask('POST', crds, definition(fields(22, '[')));
    expect(refused.status).toBe(422);
    expect(refused.body['message']).toContain("must be a valid regular expression, but isn't");
    // Four per time slice after the one in which the request arrived.
    expect(turns).toEqual([1 + 6]);
    await pipeline.serve(definition(fields(22, 'x')));
    expect(Math.max(...turns.slice(1))).toBe(1 + 1);

    turns.length = 0;
    const path = '/apis/example.com/v1/namespaces/default/foos';
    const of = (length: (n: number) => number): KubeObject =>
      foo(Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`f${n}`, 'a'.repeat(length(n))])));
    const wrong = await pipeline.ask(
      'POST',
      path,
      of((n) => n),
    );
    expect(wrong.status).toBe(422);
    expect((wrong.body['details'] as { causes: unknown[] }).causes).toHaveLength(8);
    expect(turns).toEqual([1 + 2]);
    await pipeline.ask(
      'POST',
      path,
      of((n) => n),
    );
    expect(turns).toEqual([1 + 2, 1]);
    await pipeline.close();
  });
});

describe('compilation', () => {
  test('runs in time slices, and the check is repeated', async () => {
    const hurried = startWorker({ slices: hurriedSlices });
    const perTurn: number[] = [];
    let compiled = 0;
    const check = (mayCompile: MayCompile): string => {
      const before = compiled;
      try {
        for (; compiled < 10; compiled++) if (!mayCompile()) throw new NotCompiled();
        return 'done';
      } finally {
        perTurn.push(compiled - before);
      }
    };
    const answer = hurried.compiling(check);
    expect(perTurn).toEqual([0]);
    await expect(answer).resolves.toBe('done');
    expect(perTurn).toEqual([0, 4, 4, 2]);
    expect(hurried.compiling(check)).toBe('done');
  });

  test('completes at once if the cache evicts what earlier slices compiled', async () => {
    const hurried = startWorker({ slices: hurriedSlices });
    const check = (mayCompile: MayCompile): string => {
      for (let n = 0; n < 10; n++) if (!mayCompile()) throw new NotCompiled();
      return 'done';
    };
    await expect(hurried.compiling(check)).resolves.toBe('done');
  });

  test('a short check in slices that others have used up is repeated on the event loop, a long one is not', async () => {
    let now = 0;
    const scheduler = new EventLoopScheduler({ now: () => (now += 10), schedule: setImmediate });
    const queue = new TimeSlicedQueue(scheduler);
    const busy = startWorker({ slices: () => queue.timeSlices() });
    let attempts = 0;
    const check =
      (steps: number) =>
      (_: MayCompile, isOverdue: IsOverdue): string => {
        attempts++;
        if (isOverdue(steps)) throw new OutOfPatience();
        return 'done';
      };
    await expect(busy.compiling(check(minInlineSteps))).resolves.toBe('done');
    expect(attempts).toBe(2);
    await expect(busy.compiling(check(minInlineSteps + 1))).rejects.toThrow(OutOfPatience);
    expect(attempts).toBe(4);
    const expensive = (): void => {
      throw new OutOfPatience();
    };
    expect(() => busy.compiling(expensive)).toThrow(OutOfPatience);
  });

  test('passes other errors on', async () => {
    const hurried = startWorker({ slices: hurriedSlices });
    const wrong = new Error('wrong');
    const check = (mayCompile: MayCompile): void => {
      if (mayCompile()) checks++;
      throw checks === 0 ? new NotCompiled() : wrong;
    };
    let checks = 0;
    await expect(hurried.compiling(check)).rejects.toBe(wrong);
    expect(() => hurried.compiling(check)).toThrow(wrong);
  });
});

describe('admission configurations', () => {
  const configured = (kind: string, content: JsonObject): KubeObject => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: 'a' },
    ...content,
  });
  const errorsOf = async (object: KubeObject): Promise<string[]> =>
    (await worker.definition(root, object, undefined)).map(fieldErrorText);

  test.each(['ValidatingAdmissionPolicy', 'MutatingAdmissionPolicy'])('the expressions of a %s', async (kind) => {
    const spec = { matchConditions: [{ name: 'a', expression: 'nope' }] };
    expect(await errorsOf(configured(kind, { spec }))).toContainEqual(
      expect.stringContaining('spec.matchConditions[0].expression: Invalid value: "nope": compilation failed: ERROR'),
    );
  });

  test('the conditions of webhooks', async () => {
    const webhooks = [{ name: 'a.b.c', matchConditions: [{ name: 'a', expression: '1' }] }];
    expect(await errorsOf(configured('ValidatingWebhookConfiguration', { webhooks }))).toContainEqual(
      'webhooks[0].matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int',
    );
  });
});

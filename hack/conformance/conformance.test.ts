import { describe, expect, test } from '@jest/globals';
import type { Scenario } from '../../e2e/conformance/scenario.ts';
import { ExpressionGenerator } from './cel/generator.ts';
import { DeliberateDifferences } from './deliberate-differences.ts';
import { classOf } from './difference-class.ts';
import { differencesOf, type Difference } from './differences.ts';
import { jsonText, numberText } from './odd-values.ts';
import { Random } from './random.ts';
import { Recording } from './record.ts';
import { shrink } from './shrink.ts';
import { scenarioOf } from './topic.ts';
import { topics } from './topics/all.ts';

const generated = (topic: (typeof topics)[number], name: string): Scenario => scenarioOf(topic, name, new Random(name));

describe('generators', () => {
  test.each(topics)('$name repeats a scenario from its name, and makes another from another', (topic) => {
    const names = Array.from({ length: 30 }, (_, index) => `${topic.name}/1/${index}`);
    const texts = names.map((name) => JSON.stringify(generated(topic, name).steps));
    expect(names.map((name) => JSON.stringify(generated(topic, name).steps))).toEqual(texts);
    expect(new Set(texts).size).toBeGreaterThan(25);
  });

  test('expressions of CEL are repeated from their seed, and others are made from another', () => {
    const texts = (seed: string): string[] => [...new ExpressionGenerator(new Random(seed)).expressions(2)];
    expect(texts('a')).toEqual(texts('a'));
    const own = new Set(texts('a'));
    expect(texts('b').filter((text) => !own.has(text)).length).toBeGreaterThan(300);
  });

  test('numbers beyond those of JavaScript keep their digits', () => {
    expect(jsonText({ a: [numberText('9223372036854775808'), 'text'] })).toBe('{"a":[9223372036854775808,"text"]}');
  });

  test('a scenario ends with reading what it wrote', () => {
    const [writes] = topics;
    const { steps } = scenarioOf(
      {
        ...writes,
        name: 'x',
        steps: () => [{ method: 'PUT', path: '/api/v1/namespaces/n/configmaps/a/status?dryRun=All' }],
      },
      'x',
      new Random('x'),
    );
    expect(steps[1]).toEqual({ path: '/api/v1/namespaces/n/configmaps/a' });
  });
});

describe('comparison', () => {
  test('names every place that differs, and ignores the order of managers', () => {
    const left = { status: 200, body: { a: 1, b: [1, { c: 2 }], managedFields: [{ manager: 'x' }, { manager: 'y' }] } };
    const right = { status: 409, body: { a: 1, b: [1, {}], managedFields: [{ manager: 'y' }, { manager: 'x' }] } };
    expect(differencesOf(left, right)).toEqual([
      { at: '/status', reference: 200, subject: 409 },
      { at: '/body/b/1/c', reference: 2, subject: undefined },
    ]);
  });

  test('ages in a table may differ, other cells and other durations may not', () => {
    const table = (...cells: string[]) => ({
      status: 200,
      body: { rows: [{ cells }], spec: { timeout: cells[0] ?? '' } },
    });
    expect(differencesOf(table('0s', '<none>'), table('1m2s', '0s'))).toEqual([
      { at: '/body/rows/0/cells/1', reference: '<none>', subject: '0s' },
      { at: '/body/spec/timeout', reference: '0s', subject: '1m2s' },
    ]);
  });

  test('lists of discovery are compared by name, and the order of what both have', () => {
    const of = (...names: string[]) => ({
      status: 200,
      body: { kind: 'APIGroupList', groups: names.map((name) => ({ name, versions: [] })) },
    });
    expect(differencesOf(of('apps', 'a', 'b'), of('a', 'b', 'kcp.io')).map(({ at }) => at)).toEqual([
      '/body/groups/apps',
      '/body/groups/kcp.io',
    ]);
    expect(differencesOf(of('a', 'b'), of('b', 'a'))).toMatchObject([
      { at: '/body/order/0', reference: 'a', subject: 'b' },
      { at: '/body/order/1' },
    ]);
  });

  test('shared parameters of OpenAPI stand where they are used', () => {
    const get = (parameters: unknown[]) => ({ '/x': { get: { parameters } } });
    const limit = { name: 'limit', in: 'query' };
    const shared = {
      swagger: '2.0',
      parameters: { 'limit-1': limit },
      paths: get([{ $ref: '#/parameters/limit-1' }]),
    };
    expect(
      differencesOf({ status: 200, body: shared }, { status: 200, body: { swagger: '2.0', paths: get([limit]) } }),
    ).toEqual([]);
  });

  test('differences of one kind are one class', () => {
    const difference = (name: string) =>
      classOf({
        step: 0,
        request: { path: `/api/v1/namespaces/t-{{run}}/configmaps/${name}` },
        statuses: [404, 404],
        differences: [{ at: '/body/message', reference: `"${name}" not found`, subject: `no "${name}"` }],
      });
    expect(difference('a').replace('/a |', '/b |')).toBe(difference('b'));
  });

  test('only what an entry describes completely is excused', () => {
    const list = new DeliberateDifferences(
      '- request: ^GET /version\n  at: ^/body/message$\n  subject: ^mine$\n  reason: own words\n',
    );
    const difference = { at: '/body/message', reference: 'theirs', subject: 'mine' };
    const another = { at: '/status', reference: 200, subject: 201 };
    expect(list.unexplained({ path: '/version' }, [difference, another])).toEqual([another]);
    expect(list.unexplained({ path: '/api' }, [difference])).toEqual([difference]);
    const other = { ...difference, subject: 'other' };
    expect(list.unexplained({ path: '/version' }, [other])).toEqual([other]);
  });

  test('an entry may excuse the whole answer', () => {
    const list = new DeliberateDifferences(
      '- at: ^/status$\n  subject: ^400$\n  whole: true\n  reason: refused earlier\n',
    );
    const differences = [
      { at: '/status', reference: 200, subject: 400 },
      { at: '/body', reference: {}, subject: '' },
    ];
    expect(list.unexplained({ path: '/a' }, differences)).toEqual([]);
    expect(list.unexplained({ path: '/a' }, differences.slice(1))).toHaveLength(1);
  });

  test('an entry may excuse places that follow from it, and look at the body', () => {
    const list = new DeliberateDifferences(
      '- body: special\n  at: ^/body/a$\n  also: ^/body/list/\n  reason: own order\n',
    );
    const places = ['/body/a', '/body/list/0', '/body/b'].map((at) => ({ at, reference: 1, subject: 2 }));
    const request = { method: 'POST', path: '/a', body: { kind: 'special' } };
    expect(list.unexplained(request, places)).toEqual(places.slice(2));
    expect(list.unexplained({ ...request, body: {} }, places)).toEqual(places);
  });

  test('what each entry matches is known, with its reason', () => {
    const list = new DeliberateDifferences('- at: ^/a$\n  reason: first\n- at: ^/[ab]$\n  reason: second\n');
    const [a, b, c] = ['/a', '/b', '/c'].map((at) => ({ at, reference: 1, subject: 2 }));
    const request = { path: '/x' };
    expect(list.reasons).toEqual(['first', 'second']);
    expect(list.excuses(request, [a, b, c] as Difference[])).toEqual([
      { entry: 0, request, difference: a },
      { entry: 1, request, difference: a },
      { entry: 1, request, difference: b },
    ]);
  });

  test('an entry may end the comparison', () => {
    const list = new DeliberateDifferences(
      '- at: ^/status$\n  subject: ^409$\n  ends: true\n  reason: not stored twice\n',
    );
    const refused = [{ at: '/status', reference: 201, subject: 409 }];
    expect(list.unexplained({ path: '/a' }, refused)).toEqual([]);
    expect(list.ends({ path: '/a' }, refused)).toBe(true);
    expect(list.ends({ path: '/a' }, [{ at: '/status', reference: 201, subject: 400 }])).toBe(false);
  });

  test('the list of excused differences can be read, and an entry without a reason cannot', () => {
    expect(() => new DeliberateDifferences()).not.toThrow();
    expect(() => new DeliberateDifferences('- at: x\n')).toThrow('needs a reason');
  });
});

describe('shrinking', () => {
  test('finds the step and the member that a difference needs', async () => {
    const steps = Array.from({ length: 9 }, (_, index) => ({
      path: `/${index}`,
      body: { needed: index === 6, other: { deep: 1 } },
    }));
    const small = await shrink(
      { name: 'x', topic: 'x', steps },
      async ({ steps }) => steps.some(({ body }) => (body as { needed?: boolean } | undefined)?.needed === true),
      200,
    );
    expect(small.steps).toEqual([{ path: '/6', body: { needed: true } }]);
  });

  test('keeps to its budget', async () => {
    let plays = 0;
    const steps = Array.from({ length: 40 }, (_, index) => ({ path: `/${index}` }));
    await shrink({ name: 'x', topic: 'x', steps }, async () => ++plays < 0, 10);
    expect(plays).toBe(10);
  });
});

test('a recording keeps only scenarios that show a new answer', () => {
  const recording = new Recording(10);
  const scenario = { name: 'x', topic: 'x', steps: [{ path: '/api/v1/namespaces' }] };
  const answer = (status: number) => [{ step: 0, request: { path: '/api/v1/namespaces' }, seen: { status, body: {} } }];
  expect([200, 200, 404].map((status) => recording.add(scenario, answer(status)))).toEqual([true, false, true]);
});

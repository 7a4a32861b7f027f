import { describe, expect, test } from '@jest/globals';
import { deepCopy, type JsonObject } from '../json/json.ts';
import { isStatusError } from '../errors/status-error.ts';
import { ApplyConflicts, applyConflictStatus } from './apply-conflict.ts';
import { Owned, everything, listOf, mapOf, paths, struct, text } from '../../test/apply-fixture.ts';
import type { FieldSet } from './field-set.ts';
import { applyAtOnce, managersAfterUpdate } from './update-managers.ts';

const conflictsOf = (run: () => unknown): string[] => {
  try {
    run();
  } catch (error) {
    if (!(error instanceof ApplyConflicts)) throw error;
    return [...error.byManager].flatMap(([key, set]) => [...set.paths()].map((path) => `${key} ${path.join('/')}`));
  }
  return [];
};

describe('apply', () => {
  test('removes what its manager applied before and no other manager owns', () => {
    const on = new Owned();
    on.apply('one', { labels: { a: '1', b: '1' }, inner: { a: 'x' } });
    on.apply('two', { labels: { b: '1' } });
    on.apply('one', { labels: { a: '1' } });
    expect(on.object).toEqual({ labels: { a: '1', b: '1' } });
    expect(on.owns('two').equals(paths('labels/b'))).toBe(true);
    on.apply('two', {});
    expect(on.object).toEqual({ labels: { a: '1' } });
    expect(on.managers.has('two')).toBe(false);
  });

  test('shares a field with the same value and refuses another one', () => {
    const on = new Owned();
    on.apply('one', { name: 'a', n: 1 });
    expect(on.apply('two', { name: 'a' }).object).toBeUndefined();
    expect(conflictsOf(() => on.apply('two', { name: 'b' }))).toEqual(['one f:name']);
    on.apply('two', { name: 'b' }, true);
    expect(on.object).toEqual({ name: 'b', n: 1 });
    expect(on.owns('one').equals(paths('n'))).toBe(true);
  });

  test('leaves what it never applied, in the lists it shares, too', () => {
    const on = new Owned();
    on.apply('one', { ports: [{ port: 80 }, { port: 81 }] });
    on.update('cli', { ports: [{ port: 80, note: 'x' }, { port: 81 }, { port: 82 }] });
    on.apply('one', { ports: [{ port: 81 }] });
    // An item goes with all that others have set in it; one that is not its own stays.
    expect(on.object).toEqual({ ports: [{ port: 81 }, { port: 82 }] });
    expect(
      on.owns('cli').equals(paths('ports/k:{"port":82,"protocol":"TCP"}', 'ports/k:{"port":82,"protocol":"TCP"}/port')),
    ).toBe(true);
  });

  test('of a configuration without fields keeps its empty structures', () => {
    const on = new Owned();
    on.apply('one', { labels: { a: '1' } });
    on.apply('one', { labels: {} });
    expect(on.owns('one').equals(paths('labels'))).toBe(true);
    expect(on.object['labels'] ?? {}).toEqual({});
  });

  test('takes its own field back from its own updates only by force', () => {
    const on = new Owned();
    on.apply('one', { name: 'a' });
    on.update('cli', { name: 'b' });
    expect(on.managers.has('one')).toBe(false);
    expect(conflictsOf(() => on.apply('one', { name: 'a' }))).toEqual(['cli f:name']);
  });
});

describe('an update', () => {
  test('takes what it changed and frees what is gone', () => {
    const on = new Owned();
    on.apply('one', { name: 'a', labels: { x: '1', y: '1' } });
    on.update('cli', { name: 'b', labels: { x: '1' }, n: 3 });
    expect(on.owns('one').equals(paths('labels/x'))).toBe(true);
    expect(on.owns('cli').equals(paths('name', 'n'))).toBe(true);
    const before = on.managers;
    on.update('third', deepCopy<JsonObject>(on.object));
    expect(on.managers).toBe(before);
  });
});

describe('when a schema changes', () => {
  const object = { labels: { a: '1', b: '2' }, tags: ['x'] };

  test('fields in what has become atomic are owned as a whole', () => {
    const on = new Owned(struct({ labels: mapOf(text), tags: listOf(text, []) }));
    on.apply('one', object);
    const atomic = new Owned(struct({ labels: mapOf(text, true), tags: listOf(text) }));
    atomic.object = on.object;
    atomic.managers = on.managers;
    expect(conflictsOf(() => atomic.apply('two', { labels: { a: '2' } }))).toEqual(['one f:labels']);
    atomic.apply('two', { labels: { a: '2' } }, true);
    expect(atomic.object['labels']).toEqual({ a: '2' });
    expect(atomic.owns('one').equals(paths('tags'))).toBe(true);
  });

  test('what was atomic stays owned when it is granular', () => {
    const atomic = new Owned(struct({ labels: mapOf(text, true) }));
    atomic.apply('one', { labels: { a: '1' } });
    const on = new Owned(struct({ labels: mapOf(text) }));
    on.object = atomic.object;
    on.managers = atomic.managers;
    on.apply('two', { labels: { b: '2' } });
    expect(on.object).toEqual({ labels: { a: '1', b: '2' } });
    expect(on.owns('one').equals(paths('labels'))).toBe(true);
  });
});

describe('managers of other versions', () => {
  const renamed = struct({ title: text });
  const views = {
    schema: (version: string) => (version === 'v2' ? renamed : version === 'v1' ? everything : undefined),
    convert: ({ value }: { value: unknown }, from: string, to: string) => {
      const source = value as JsonObject;
      if (from === to) return { value: source, schema: everything };
      if (to === 'v2') return { value: 'name' in source ? { title: source['name'] ?? '' } : {}, schema: renamed };
      if (to === 'v1') return { value: 'title' in source ? { name: source['title'] ?? '' } : {}, schema: everything };
      return undefined;
    },
  };
  const all = (set: FieldSet): FieldSet => set;
  const update = (managers: ReadonlyMap<string, { set: FieldSet; apiVersion: string; applied: boolean }>) => ({
    live: { value: { name: 'a' }, schema: everything },
    apiVersion: 'v1',
    managers,
    manager: 'me',
    views,
    filter: all,
  });

  test('conflict in terms of their own version', () => {
    const managers = new Map([['other', { set: paths('title'), apiVersion: 'v2', applied: true }]]);
    expect(conflictsOf(() => applyAtOnce(update(managers), { name: 'b' }, false))).toEqual(['other f:title']);
    expect(managersAfterUpdate(update(managers), { value: { name: 'b' }, schema: everything }).managers.size).toBe(0);
  });

  test('are dropped when the version is no longer served', () => {
    const managers = new Map([['other', { set: paths('gone'), apiVersion: 'v0', applied: true }]]);
    expect([...applyAtOnce(update(managers), { name: 'b' }, false).managers.keys()]).toEqual(['me']);
  });

  test('hand over what they applied before', () => {
    const managers = new Map([['me', { set: paths('title'), apiVersion: 'v2', applied: true }]]);
    const { object } = applyAtOnce(update(managers), { n: 1 }, false);
    expect(object?.['name']).toBeUndefined();
  });
});

test('a conflict names every field of every manager', () => {
  const applier = '{"manager":"one","operation":"Apply"}';
  const updater = '{"manager":"cli","operation":"Update","apiVersion":"apps/v1","subresource":"status"}';
  const error = applyConflictStatus(
    new ApplyConflicts(
      new Map([
        [applier, paths('spec/n')],
        [updater, paths('a', 'l/k:{"type":"T"}/s')],
      ]),
    ),
  );
  expect(isStatusError(error, 'Conflict')).toBe(true);
  expect(error.message).toBe(
    'Apply failed with 3 conflicts: conflicts with "cli" with subresource "status" using apps/v1:\n- .a\n- .l[type="T"].s\nconflicts with "one":\n- .spec.n',
  );
  expect(applyConflictStatus(new ApplyConflicts(new Map([[applier, paths('a')]]))).message).toBe(
    'Apply failed with 1 conflict: conflict with "one": .a',
  );
});

import { expect, test } from '@jest/globals';
import { mapOf, struct, text } from '../../test/apply-fixture.ts';
import { ListElements } from '../apply/list-elements.ts';
import { mergeIncrementally, mergeTyped } from '../apply/merge-typed.ts';
import { runToCompletion } from '../async/run-to-completion.ts';
import { maxJsonMembers, maxJsonValues } from '../json/json-codec.ts';
import type { Json, JsonObject } from '../json/json.ts';
import { checkExtent } from './extent.ts';
import { applyJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

const members = (from: number, count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${from + index}`, '']));
const schema = struct({ data: mapOf(text) });
/** The result of a patch after its check. */
function within<T extends Json>(result: T): T {
  checkExtent(result);
  return result;
}

const meta = { strategies: [], mergeKey: undefined, field: () => undefined };

test.each<[string, (document: JsonObject, patch: JsonObject) => unknown]>([
  ['merge patch', (document, patch) => within(applyMergePatch(document, patch))],
  ['strategic merge patch', (document, patch) => within(applyStrategicMergePatch(document, patch, meta))],
  ['apply', (document, patch) => mergeTyped(document, patch, schema)],
  [
    'large apply',
    (document, patch) => runToCompletion(mergeIncrementally(document, patch, schema, new ListElements())),
  ],
  [
    'JSON patch',
    (document, { data }) =>
      runToCompletion(
        applyJsonPatch(
          document,
          Object.entries(data as JsonObject).map(([name, value]) => ({ op: 'add', path: `/data/${name}`, value })),
        ),
      ),
  ],
])('a %s adds members up to the limit of a body', (_, applied) => {
  const document = { data: members(0, maxJsonMembers - 5_000) };
  // Members that are there already do not count.
  expect(applied(document, { data: members(maxJsonMembers - 6_000, 6_000) })).toEqual({
    data: members(0, maxJsonMembers),
  });
  expect(() => applied(document, { data: members(maxJsonMembers - 6_000, 6_001) })).toThrow(
    expect.objectContaining({ code: 413, message: expect.stringContaining('more than 65536 members') }),
  );
});

test('members that a patch removes make room, in whatever order', () => {
  const document = { data: members(0, maxJsonMembers) };
  const { data } = within(
    applyMergePatch(document, { data: { added1: '', m0: null, m1: null, added2: '' } }),
  ) as typeof document;
  expect(Object.keys(data)).toHaveLength(maxJsonMembers);
  expect(() => within(applyMergePatch(document, { data: { added1: '', m0: null, added2: '' } }))).toThrow(
    'more than 65536 members',
  );
});

test.each<[string, (document: JsonObject, patch: JsonObject) => unknown]>([
  ['merge patch', (document, patch) => within(applyMergePatch(document, patch))],
  ['strategic merge patch', (document, patch) => within(applyStrategicMergePatch(document, patch, meta))],
  [
    'JSON patch',
    (document, { b }) => runToCompletion(applyJsonPatch(document, [{ op: 'add', path: '/b', value: b as Json }])),
  ],
])('a %s results in at most as many values as a body has', (_, applied) => {
  const list = (count: number): Json[] => Array.from({ length: count }, () => 0);
  const document = { a: list(100_000) };
  // The object and both lists are values, too.
  const most = maxJsonValues - 100_003;
  expect(applied(document, { b: list(most) })).toMatchObject({ b: { length: most } });
  expect(() => applied(document, { b: list(most + 1) })).toThrow(
    expect.objectContaining({ code: 413, message: expect.stringContaining('more than 210000 values') }),
  );
});

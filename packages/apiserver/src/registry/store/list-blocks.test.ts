import { describe, expect, test } from '@jest/globals';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { ListBlocks } from './list-blocks.ts';

const definition = { kind: 'A' } as unknown as ResourceDefinition;
const entry = (name: string, revision = 1, size = 10_000): CacheEntry => ({
  key: `/registry/a/${name}`,
  value: Buffer.alloc(size, name),
  revision,
  attachment: undefined,
});
const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'];

/** Writes a list; returns which runs were encoded and which were reused. */
function walk(
  blocks: ListBlocks,
  entries: readonly CacheEntry[],
  of = definition,
): { text: string; encoded: string[]; kept: number } {
  const encoded: string[] = [];
  let text = '';
  let kept = 0;
  for (let at = 0; at < entries.length;) {
    const made = encoded.length;
    const { bytes, count } = blocks.next(of, entries, at, (run) => {
      encoded.push(run.map(({ key }) => key.at(-1)).join(''));
      return Buffer.concat(run.map(({ value }) => value));
    });
    if (bytes !== undefined && encoded.length === made) kept++;
    text += (bytes ?? Buffer.concat(entries.slice(at, at + count).map(({ value }) => value))).toString();
    at += count;
  }
  expect(text).toBe(entries.map(({ value }) => value.toString()).join(''));
  return { text, encoded, kept };
}

describe('encoded list blocks', () => {
  const all = names.map((name) => entry(name));

  test('are encoded for the second list and reused from the third on', () => {
    const blocks = new ListBlocks({ maxBytes: 1_000_000 });
    expect(walk(blocks, all)).toMatchObject({ encoded: [], kept: 0 });
    expect(walk(blocks, all)).toMatchObject({ encoded: ['abcdef', 'ghijkl'], kept: 0 });
    expect(walk(blocks, all)).toMatchObject({ encoded: [], kept: 2 });
  });

  test('are released when they were not used for a whole period', () => {
    const blocks = new ListBlocks({ maxBytes: 1_000_000 });
    for (let i = 0; i < 2; i++) walk(blocks, all);
    blocks.releaseUnused();
    expect(walk(blocks, all)).toMatchObject({ encoded: [], kept: 2 });
    blocks.releaseUnused();
    blocks.releaseUnused();
    expect(walk(blocks, all)).toMatchObject({ encoded: [], kept: 0 });
  });

  test('are encoded again from a change up to the next unchanged block', () => {
    const blocks = new ListBlocks({ maxBytes: 1_000_000 });
    for (let i = 0; i < 3; i++) walk(blocks, all);
    const changed = all.with(2, entry('c', 2)).toSpliced(4, 1);
    expect(walk(blocks, changed)).toMatchObject({ encoded: ['abcdf'], kept: 1 });
    expect(walk(blocks, changed)).toMatchObject({ encoded: [], kept: 2 });
    const again = changed.with(0, entry('a', 3)).with(1, entry('b', 3));
    expect(walk(blocks, again)).toMatchObject({ encoded: ['abcdf'], kept: 1 });
  });

  test('are encoded for the second list after a change if they had been listed once', () => {
    const blocks = new ListBlocks({ maxBytes: 1_000_000 });
    walk(blocks, all);
    const changed = all.with(2, entry('c', 2));
    expect(walk(blocks, changed)).toMatchObject({ encoded: ['ghijkl'], kept: 0 });
    expect(walk(blocks, changed)).toMatchObject({ encoded: ['abcdef'], kept: 1 });
  });

  test('start without their first bytes where a list omits them, in the same buffer each time', () => {
    const blocks = new ListBlocks({ maxBytes: 1_000_000 });
    for (let i = 0; i < 2; i++) walk(blocks, all);
    const next = (omitted: number): Buffer | undefined =>
      blocks.next(definition, all, 0, () => undefined, omitted).bytes;
    expect(next(1)?.equals(next(0)?.subarray(1) as Buffer)).toBe(true);
    expect(next(1)).toBe(next(1));
  });

  test('belong to one definition', () => {
    const blocks = new ListBlocks({ maxBytes: 1_000_000 });
    for (let i = 0; i < 3; i++) walk(blocks, all);
    const other = { kind: 'A' } as unknown as ResourceDefinition;
    expect(walk(blocks, all, other)).toMatchObject({ encoded: [], kept: 0 });
  });

  test('end at the end of the page', () => {
    const blocks = new ListBlocks({ maxBytes: 1_000_000 });
    for (let i = 0; i < 3; i++) walk(blocks, all);
    expect(walk(blocks, all.slice(0, 3))).toMatchObject({ encoded: [], kept: 0 });
  });

  test('are limited in bytes', () => {
    const blocks = new ListBlocks({ maxBytes: 70_000 });
    for (let i = 0; i < 3; i++) walk(blocks, all);
    const { encoded, kept } = walk(blocks, all);
    expect(kept + encoded.length).toBeLessThan(2);
  });

  test('are not kept for short lists', () => {
    const blocks = new ListBlocks({ maxBytes: 1_000_000 });
    const few = names.map((name) => entry(name, 1, 100));
    for (let i = 0; i < 3; i++) expect(walk(blocks, few)).toMatchObject({ encoded: [], kept: 0 });
  });
});

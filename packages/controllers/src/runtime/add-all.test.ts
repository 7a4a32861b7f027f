import { expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { addAll } from './add-all.ts';

test('adds few keys synchronously and many keys in batches, each key once', async () => {
  const added: string[] = [];
  const queue = { add: (key: string): void => void added.push(key) };
  addAll(queue, new Set(['a', 'b']));
  expect(added).toEqual(['a', 'b']);

  added.length = 0;
  const many = new Set(Array.from({ length: 10_000 }, (_, index) => `key${index}`));
  const wanted = [...many];
  addAll(queue, many);
  expect(added.length).toBeLessThan(wanted.length);
  // Keys that leave the source set meanwhile are still added; their reconcile finds no object.
  many.clear();
  await eventually(() => expect(added).toEqual(wanted));
});

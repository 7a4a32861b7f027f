import { expect, test } from '@jest/globals';
import { eventually } from '@multiplane/testing';
import { addAll } from './add-all.ts';

test('few keys are added at once, many with pauses, each once', async () => {
  const added: string[] = [];
  const queue = { add: (key: string): void => void added.push(key) };
  addAll(queue, new Set(['a', 'b']));
  expect(added).toEqual(['a', 'b']);

  added.length = 0;
  const many = new Set(Array.from({ length: 10_000 }, (_, index) => `key${index}`));
  const wanted = [...many];
  addAll(queue, many);
  expect(added.length).toBeLessThan(wanted.length);
  // Who leaves meanwhile is looked at, and found to be gone.
  many.clear();
  await eventually(() => expect(added).toEqual(wanted));
});

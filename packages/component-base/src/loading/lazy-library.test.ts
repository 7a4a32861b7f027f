import { expect, test } from '@jest/globals';
import type * as PromClient from 'prom-client';
import { lazyLibrary } from './lazy-library.ts';

test('a library is found beside the module that asks, and is the same each time', () => {
  const library = lazyLibrary<typeof PromClient>(import.meta.url, 'prom-client');
  expect(library().Registry).toBeInstanceOf(Function);
  expect(library()).toBe(library());
});

test('nothing is looked for before it is asked for', () => {
  const library = lazyLibrary(import.meta.url, 'not-installed');
  expect(library).toThrow("Cannot find module 'not-installed'");
});

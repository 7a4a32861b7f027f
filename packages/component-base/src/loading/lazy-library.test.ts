import { expect, test } from '@jest/globals';
import type * as PromClient from 'prom-client';
import { lazyLibrary } from './lazy-library.ts';

test('resolves the library from the given module, and loads it once', () => {
  const library = lazyLibrary<typeof PromClient>(import.meta.url, 'prom-client');
  expect(library().Registry).toBeInstanceOf(Function);
  expect(library()).toBe(library());
});

test('resolves nothing before the first call', () => {
  const library = lazyLibrary(import.meta.url, 'not-installed');
  expect(library).toThrow("Cannot find module 'not-installed'");
});

import { createRequire } from 'node:module';

/**
 * Loads an installed library on the first call, so that importing the module that uses it stays cheap. `address` is the
 * `import.meta.url` of that module, from which the library is resolved.
 */
export function lazyLibrary<T>(address: string, name: string): () => T {
  let library: { readonly exports: T } | undefined;
  return () => (library ??= { exports: createRequire(address)(name) as T }).exports;
}

import { createRequire } from 'node:module';

/**
 * An installed library that is loaded when it is asked for first: whoever imports the module that uses it does not wait
 * for what may never be needed. `address` is the `import.meta.url` of that module, beside which the library is found.
 */
export function lazyLibrary<T>(address: string, name: string): () => T {
  let library: { readonly exports: T } | undefined;
  return () => (library ??= { exports: createRequire(address)(name) as T }).exports;
}

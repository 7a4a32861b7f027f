import { builtInResources, type ResourceDefinition } from '@multiplane/apis';
import { registryPrefix } from '@multiplane/storage';

/** The key prefixes of the kinds that have no identity in their keys. */
export function builtInPrefixes(builtIn: readonly ResourceDefinition[]): ReadonlySet<string> {
  return new Set(builtIn.flatMap(({ storage }) => (storage === undefined ? [] : [storage.prefix])));
}

/** {@link builtInPrefixes} of all built-in kinds. */
export const builtInKeyPrefixes = (): ReadonlySet<string> => builtInPrefixes(builtInResources({ eventTtlSeconds: 1 }));

/** The part of a key before the name of the logical cluster: a kind or, if it is not built in, a kind and its identity. */
export function contentPrefixOf(key: string, builtIn: ReadonlySet<string>): string {
  const group = key.indexOf('/', registryPrefix.length);
  const prefix = key.slice(0, key.indexOf('/', group + 1) + 1);
  return builtIn.has(prefix) ? prefix : key.slice(0, key.indexOf('/', prefix.length) + 1);
}

import { isJsonObject, type DeepReadonly, type Json } from '@multiplane/apimachinery';

/**
 * The object that a value at the path of a {@link ClaimReference} names: the value is a name, or an object with a name and
 * perhaps a namespace. Undefined for anything else, and for a namespace other than that of the object that refers, unless
 * that object has none or `otherNamespaces` permits it.
 */
export function referencedObject(
  value: DeepReadonly<Json>,
  ownNamespace: string,
  otherNamespaces: boolean,
): readonly [namespace: string, name: string] | undefined {
  const { name, namespace = ownNamespace } = (isJsonObject(value) ? value : { name: value }) as {
    readonly name?: unknown;
    readonly namespace?: unknown;
  };
  if (typeof name !== 'string' || name === '' || typeof namespace !== 'string') return undefined;
  const isOwn = namespace === ownNamespace || namespace === '';
  if (!isOwn && ownNamespace !== '' && !otherNamespaces) return undefined;
  return [namespace === '' ? ownNamespace : namespace, name];
}

import { Quantity, type DeepReadonly, type Json } from '@multiplane/apimachinery';
import { entriesAt } from '../fields.ts';

/** A resource list by resource name, in the order of the names. Texts were checked when the object was decoded. */
export function quantitiesAt(
  source: DeepReadonly<object> | Json | undefined,
  ...path: readonly string[]
): ReadonlyMap<string, Quantity> {
  return new Map(entriesAt(source, ...path).map(([name, text]) => [name, Quantity.parse(text as string)]));
}

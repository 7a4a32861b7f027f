import type { FieldSelector } from '@multiplane/apimachinery';
import { fieldKeyOf, isFieldKey } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { scanField } from '../codec/field-scanner.ts';
import { labelOf } from './entry-metadata.ts';
import type { Selection } from './selection.ts';

/**
 * The value of an entry by the key of a scope: of a label, or of a field with a leading dot. Fields are read as the object is
 * stored, in whichever version that was: no conversion and no default of a newer schema changes what an index has.
 */
export const storedValueOf = (entry: CacheEntry, key: string): string | undefined =>
  isFieldKey(key) ? scanField(entry.value, key) : labelOf(entry, key);

/** Selects entries by fields as they are stored; undefined: all. */
export function storedFieldSelection(fields: FieldSelector): Selection | undefined {
  if (fields.empty) return undefined;
  return ({ value }) => fields.matches((path) => scanField(value, fieldKeyOf(path)) ?? '');
}

import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { type ScannedMetadata, scanMetadata } from './metadata-scanner.ts';

/**
 * What was once found out about one version of one object. It hangs on the cache entry, is made when somebody first asks
 * (most objects are never selected by label), and goes with the entry.
 */
export interface EntryFacts {
  metadata?: ScannedMetadata;
  /** Values of the selectable fields, for the selectors they were computed by. */
  fieldsOf?: ResourceDefinition['fieldSelectors'];
  fields?: Record<string, string>;
  /** Hash of the schema that the stored bytes are known to satisfy unchanged; with a leading `!`: known not to. */
  conformance?: string;
  /** Of a definition: text that changes with what it serves. */
  fingerprint?: string;
}

const noLabels: Readonly<Record<string, string>> = Object.freeze({});

/** The facts of an entry, empty at first. */
export function factsOf(entry: CacheEntry): EntryFacts {
  entry.attachment ??= {};
  return entry.attachment as EntryFacts;
}

/** Labels, owners, finalizers and deletionTimestamp without parsing the object. */
export function scannedMetadata(entry: CacheEntry): ScannedMetadata {
  return (factsOf(entry).metadata ??= scanMetadata(entry.value));
}

export function labelsOf(entry: CacheEntry): Readonly<Record<string, string>> {
  return scannedMetadata(entry).labels ?? noLabels;
}

/** Value of a selectable field; the object is parsed once per entry. */
export function fieldOf(
  entry: CacheEntry,
  definition: ResourceDefinition,
  field: string,
  decode: (entry: CacheEntry) => DeepReadonly<KubeObject>,
): string {
  const facts = factsOf(entry);
  if (facts.fieldsOf !== definition.fieldSelectors || facts.fields === undefined) {
    const object = decode(entry);
    const values: Record<string, string> = {};
    for (const [name, valueOf] of Object.entries(definition.fieldSelectors)) values[name] = valueOf(object);
    facts.fields = values;
    facts.fieldsOf = definition.fieldSelectors;
  }
  return Object.hasOwn(facts.fields, field) ? (facts.fields[field] as string) : '';
}

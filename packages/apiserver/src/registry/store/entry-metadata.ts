import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { type ScannedMetadata, scanLabels, scanMetadata } from '../codec/metadata-scanner.ts';

/**
 * Derived data of one version of one object, computed on first use (most objects are never selected by label) and attached
 * to the cache entry, whose lifetime it shares.
 */
export interface EntryMetadata {
  metadata?: ScannedMetadata;
  /** The field selectors by which `fields` was computed. */
  fieldsOf?: ResourceDefinition['fieldSelectors'];
  /** Values of the selectable fields. */
  fields?: Record<string, string>;
  /** Hash of the schema that the stored bytes conform to unchanged; with a leading `!`: do not conform to. */
  conformance?: string;
  /** Of a CustomResourceDefinition: changes with the APIs that it serves. */
  fingerprint?: string;
}

const noLabels: Readonly<Record<string, string>> = Object.freeze({});

/** The metadata attached to an entry, initially empty. */
export function entryMetadataOf(entry: CacheEntry): EntryMetadata {
  entry.attachment ??= {};
  return entry.attachment as EntryMetadata;
}

/** Labels, owner references, finalizers and deletionTimestamp, without parsing the object. */
export function scannedMetadata(entry: CacheEntry): ScannedMetadata {
  return (entryMetadataOf(entry).metadata ??= scanMetadata(entry.value));
}

export function labelsOf(entry: CacheEntry): Readonly<Record<string, string>> {
  return scannedMetadata(entry).labels ?? noLabels;
}

/**
 * The value of one label, undefined if the object does not have it. Attaches nothing to the entry: an index reads every
 * object once, and most of them are not read again.
 */
export function labelOf(entry: CacheEntry, key: string): string | undefined {
  const known = (entry.attachment as EntryMetadata | undefined)?.metadata;
  const labels = known === undefined ? scanLabels(entry.value) : known.labels;
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** Value of a selectable field; the object is parsed once per entry. */
export function selectableFieldOf(
  entry: CacheEntry,
  definition: ResourceDefinition,
  field: string,
  decode: (entry: CacheEntry) => DeepReadonly<KubeObject>,
): string {
  const known = entryMetadataOf(entry);
  if (known.fieldsOf !== definition.fieldSelectors || known.fields === undefined) {
    const object = decode(entry);
    const values: Record<string, string> = {};
    for (const [name, valueOf] of Object.entries(definition.fieldSelectors)) values[name] = valueOf(object);
    known.fields = values;
    known.fieldsOf = definition.fieldSelectors;
  }
  return Object.hasOwn(known.fields, field) ? (known.fields[field] as string) : '';
}

import {
  type DeepReadonly,
  type FieldSelector,
  type KubeObject,
  type LabelSelector,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { selectableFieldOf, labelsOf } from './entry-metadata.ts';

export const nameField = 'metadata.name';
const namespaceField = 'metadata.namespace';

/** Selects the objects of a list, a watch or a deletecollection. Undefined: all objects. */
export type Selection = (entry: CacheEntry) => boolean;

/**
 * The selectors of a request as one predicate over cache entries. Labels are scanned from the stored bytes, names are taken
 * from the key; only other fields require the parsed object, once per entry. Throws 400 for an unsupported field.
 */
export function selectionOf(
  definition: ResourceDefinition,
  labels: LabelSelector,
  fields: FieldSelector,
  decode: (entry: CacheEntry) => DeepReadonly<KubeObject>,
): Selection | undefined {
  checkFields(definition, fields);
  if (labels.empty && fields.empty) return undefined;
  // A conversion webhook may change labels: then the labels of the converted object are matched.
  const byLabels: Selection =
    definition.conversion === undefined
      ? (entry) => labels.matches(labelsOf(entry))
      : (entry) => labels.matches(decode(entry).metadata.labels ?? {});
  if (fields.empty) return byLabels;
  const byFields: Selection = (entry) =>
    fields.matches((field) => {
      if (field === nameField) return nameOfKey(entry.key);
      if (field === namespaceField) return definition.namespaced ? namespaceOfKey(entry.key) : '';
      return selectableFieldOf(entry, definition, field, decode);
    });
  return labels.empty ? byFields : (entry) => byLabels(entry) && byFields(entry);
}

/** Last segment of a key. */
export function nameOfKey(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

/** The segment before the last; for keys of namespaced kinds only. */
export function namespaceOfKey(key: string): string {
  const end = key.lastIndexOf('/');
  return key.slice(key.lastIndexOf('/', end - 1) + 1, end);
}

function checkFields(definition: ResourceDefinition, fields: FieldSelector): void {
  for (const { field } of fields.requirements) {
    if (Object.hasOwn(definition.fieldSelectors, field) || field === nameField) continue;
    const plain = definition.origin === 'built-in' && Object.keys(definition.fieldSelectors).length === 0;
    if (field === namespaceField && (definition.namespaced || plain)) continue;
    throw statusErrors.badRequest(
      plain
        ? `${JSON.stringify(field)} is not a known field selector: only ${JSON.stringify(nameField)}, ${JSON.stringify(namespaceField)}`
        : `field label not supported: ${field}`,
    );
  }
}

/** The name and the namespace that a field selector requires, for a narrower scan. */
export function exactLocation(fields: FieldSelector): {
  readonly name: string | undefined;
  readonly namespace: string | undefined;
} {
  return { name: fields.exactValue(nameField), namespace: fields.exactValue(namespaceField) };
}

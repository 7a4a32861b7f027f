import { fieldErrors, type FieldError, type FieldPath, type JsonObject } from '@multiplane/apimachinery';
import { resolveFieldPath } from './field-path.ts';
import { stringOf } from './schema-document.ts';

const maxSelectableFields = 8;

/** `selectableFields` of a version against its schema. */
export function validateSelectableFields(
  fields: readonly JsonObject[],
  schema: JsonObject,
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  fields.forEach((field, index) => {
    const where = path.index(index).child('jsonPath');
    const jsonPath = stringOf(field, 'jsonPath');
    if (jsonPath === '') {
      errors.push(fieldErrors.required(where));
      return;
    }
    const found = resolveFieldPath(jsonPath, schema, { brackets: false });
    if (typeof found === 'string') {
      errors.push(fieldErrors.invalid(where, jsonPath, `is an invalid path: ${found}`));
      return;
    }
    if (found.root === 'metadata')
      errors.push(fieldErrors.invalid(where, jsonPath, 'must not point to fields in metadata'));
    if (!['string', 'boolean', 'integer'].includes(stringOf(found.schema, 'type'))) {
      const detail =
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
      errors.push(fieldErrors.invalid(where, jsonPath, detail));
    }
    if (seen.has(found.path)) errors.push(fieldErrors.duplicate(where, jsonPath));
    seen.add(found.path);
  });
  if (seen.size > maxSelectableFields) errors.push(fieldErrors.tooMany(path, seen.size, maxSelectableFields));
  return errors;
}

import { fieldErrors, type FieldError, type FieldPath, type Json } from '@multiplane/apimachinery';
import { at, listAt, objectAt, textAt } from '../fields.ts';

/*
 * The parts of a version of a definition besides its schema.
 */

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];
const maxDeprecationWarning = 256;

/** `deprecationWarning` wants a deprecated version and one printable line. */
export function deprecationWarningErrors(version: Json, path: FieldPath): FieldError[] {
  const text = at(version, 'deprecationWarning');
  if (typeof text !== 'string') return [];
  const wrong = (detail: string): FieldError => fieldErrors.invalid(path.child('deprecationWarning'), text, detail);
  const errors = at(version, 'deprecated') === true ? [] : [wrong('can only be set for deprecated versions')];
  if (text === '') errors.push(wrong('must not be an empty string'));
  if (Buffer.byteLength(text) > maxDeprecationWarning) {
    errors.push(wrong(`must be <= ${maxDeprecationWarning} characters long`));
  }
  const unprintable = text.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u);
  if (unprintable >= 0) {
    const index = Buffer.byteLength(text.slice(0, unprintable));
    errors.push(wrong(`must only contain printable UTF-8 characters; non-printable character found at index ${index}`));
  }
  return errors;
}

/** Paths of `scale`. */
export function subresourceErrors(subresources: Json | undefined, path: FieldPath): FieldError[] {
  const scale = objectAt(subresources, 'scale');
  if (scale === undefined) return [];
  const where = path.child('scale');
  const errors: FieldError[] = [];
  for (const [field, part] of [
    ['specReplicasPath', '.spec'],
    ['statusReplicasPath', '.status'],
  ] as const) {
    const text = textAt(scale, field);
    if (text === '') errors.push(fieldErrors.required(where.child(field)));
    else errors.push(...pathErrors(text, where.child(field), [part], `should be a json path under ${part}`));
  }
  const selector = textAt(scale, 'labelSelectorPath');
  if (selector !== '') {
    errors.push(
      ...pathErrors(
        selector,
        where.child('labelSelectorPath'),
        ['.spec', '.status'],
        'should be a json path under either .spec or .status',
      ),
    );
  }
  return errors;
}

function pathErrors(text: string, where: FieldPath, parts: readonly string[], detail: string): FieldError[] {
  const simple = simplePathErrors(text, where);
  if (simple.length > 0) return simple;
  return parts.some((part) => text.startsWith(`${part}.`)) ? [] : [fieldErrors.invalid(where, text, detail)];
}

const simplePathErrors = (text: string, where: FieldPath): FieldError[] =>
  text.startsWith('.') ? [] : [fieldErrors.invalid(where, text, 'must be a simple json path starting with .')];

/** One of `additionalPrinterColumns`. */
function printerColumnErrors(column: Json, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (textAt(column, 'name') === '') errors.push(fieldErrors.required(path.child('name')));
  const type = textAt(column, 'type');
  const types = `must be one of ${columnTypes.join(',')}`;
  if (type === '') errors.push(fieldErrors.required(path.child('type'), types));
  else if (!columnTypes.includes(type)) errors.push(fieldErrors.invalid(path.child('type'), type, types));
  const format = textAt(column, 'format');
  if (format !== '' && !columnFormats.includes(format)) {
    errors.push(fieldErrors.invalid(path.child('format'), format, `must be one of ${columnFormats.join(',')}`));
  }
  const text = textAt(column, 'jsonPath');
  // Named as in Kubernetes' internal version.
  const where = path.child('JSONPath');
  if (text === '') errors.push(fieldErrors.required(where));
  else errors.push(...simplePathErrors(text, where));
  return errors;
}

/** The printer columns of a list, checked one by one. */
export const printerColumnsErrors = (owner: Json, path: FieldPath): FieldError[] =>
  listAt(owner, 'additionalPrinterColumns').flatMap((column, index) => printerColumnErrors(column, path.index(index)));

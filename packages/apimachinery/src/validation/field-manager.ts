import { fieldErrors, type FieldError, type FieldPath } from './field-error.ts';

const maxLength = 128;
/** What Go calls printable: letters, marks, numbers, punctuation, symbols and the ASCII space. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;
/** What nearly all names are, found out at once. */
const plain = /^[ -~]{0,128}$/;

/** The name of a field manager: at most 128 bytes, printable. */
export function validateFieldManager(manager: string, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (plain.test(manager)) return errors;
  if (Buffer.byteLength(manager, 'utf8') > maxLength) errors.push(fieldErrors.tooLong(path, maxLength));
  let position = 0;
  for (const char of manager) {
    if (!printable.test(char)) {
      const code = (char.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
      errors.push(fieldErrors.invalid(path, manager, `invalid character U+${code} (at position ${position})`));
    }
    position += Buffer.byteLength(char, 'utf8');
  }
  return errors;
}

/** The manager of a request that names none: the User-Agent up to its first slash, cut to what is allowed. */
export function fieldManagerFromUserAgent(userAgent: string): string {
  const end = userAgent.indexOf('/');
  const named = end < 0 ? userAgent : userAgent.slice(0, end);
  if (plain.test(named)) return named;
  let manager = '';
  let length = 0;
  for (const char of named) {
    length += Buffer.byteLength(char, 'utf8');
    if (!printable.test(char) || length > maxLength) break;
    manager += char;
  }
  return manager;
}

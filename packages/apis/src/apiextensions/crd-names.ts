import {
  fieldErrors,
  validateDns1035Label,
  type FieldError,
  type FieldPath,
  type Json,
} from '@multiplane/apimachinery';
import { textAt, textsAt } from '../fields.ts';

/** Forms of `spec.names` and `status.acceptedNames`. Empty names are validated by the required-field rules. */
export function crdNamesErrors(names: Json | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const check = (where: FieldPath, name: string, checked = name, prefix = ''): void => {
    const messages = name === '' ? [] : validateDns1035Label(checked);
    if (messages.length > 0) errors.push(fieldErrors.invalid(where, name, prefix + messages.join(',')));
  };
  const mixedCase = 'may have mixed case, but should otherwise match: ';
  const kind = textAt(names, 'kind');
  const listKind = textAt(names, 'listKind');
  check(path.child('plural'), textAt(names, 'plural'));
  check(path.child('singular'), textAt(names, 'singular'));
  check(path.child('kind'), kind, kind.toLowerCase(), mixedCase);
  check(path.child('listKind'), listKind, listKind.toLowerCase(), mixedCase);
  for (const [index, name] of textsAt(names, 'shortNames').entries()) {
    labelErrors(name, path.child('shortNames').index(index), errors);
  }
  if (kind !== '' && kind === listKind) {
    errors.push(fieldErrors.invalid(path.child('listKind'), listKind, 'kind and listKind may not be the same'));
  }
  for (const [index, name] of textsAt(names, 'categories').entries()) {
    labelErrors(name, path.child('categories').index(index), errors);
  }
  return errors;
}

/** A DNS-1035 label; empty is wrong, too. All messages of one name stand in one error. */
export function labelErrors(name: string, path: FieldPath, errors: FieldError[]): void {
  const messages = validateDns1035Label(name);
  if (messages.length > 0) errors.push(fieldErrors.invalid(path, name, messages.join(',')));
}

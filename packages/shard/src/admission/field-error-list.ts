import { fieldErrorText, type FieldError } from '@multiplane/apimachinery';
import { admissionForbidden, type AdmissionAttributes } from '@multiplane/apiserver';

/** Throws 403 with all errors in brackets, even a single one, as kcp formats a field.ErrorList; returns if there are none. */
export function refuseAll(attributes: AdmissionAttributes, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw admissionForbidden(attributes, `[${errors.map(fieldErrorText).join(' ')}]`);
}

/** Throws 403 as an aggregate error: brackets only around several errors; returns if there are none. */
export function refuseAny(attributes: AdmissionAttributes, errors: readonly FieldError[]): void {
  const [first] = errors;
  if (errors.length > 1) throw admissionForbidden(attributes, `[${errors.map(fieldErrorText).join(', ')}]`);
  if (first !== undefined) throw admissionForbidden(attributes, fieldErrorText(first));
}

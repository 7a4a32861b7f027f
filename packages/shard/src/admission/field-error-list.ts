import { fieldErrorText, type FieldError } from '@multiplane/apimachinery';
import { admissionForbidden, type AdmissionAttributes } from '@multiplane/apiserver';

/** Refuses with all errors as one text in brackets, also when it is a single one (C6.3); nothing where there are none. */
export function refuseAll(attributes: AdmissionAttributes, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw admissionForbidden(attributes, `[${errors.map(fieldErrorText).join(', ')}]`);
}

/** Refuses with all errors: a single one stands alone, several in brackets. */
export function refuseAny(attributes: AdmissionAttributes, errors: readonly FieldError[]): void {
  const [first] = errors;
  if (errors.length > 1) refuseAll(attributes, errors);
  else if (first !== undefined) throw admissionForbidden(attributes, fieldErrorText(first));
}

import { fieldErrors, validateConfigMapKey, type FieldError, type FieldPath } from '@multiplane/apimachinery';

/** All values of a ConfigMap or Secret together. */
export const maxDataBytes = 1024 * 1024;

/** Rules for the keys of ConfigMaps and Secrets. */
export const configKeyErrors = (path: FieldPath, key: string): FieldError[] =>
  validateConfigMapKey(key).map((message) => fieldErrors.invalid(path, key, message));

/** A change of a field that `immutable: true` has closed. */
export const immutableData = (field: string): FieldError =>
  fieldErrors.forbidden(field, 'field is immutable when `immutable` is set');

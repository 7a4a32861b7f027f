import {
  deepEqual,
  fieldErrors,
  validateConfigMapKey,
  type DeepReadonly,
  type FieldError,
  type FieldPath,
  type KubeObject,
} from '@multiplane/apimachinery';
import { objectAt } from '../fields.ts';
import { wasEmpty } from '@multiplane/schema';

/** All values of a ConfigMap or Secret together. */
export const maxDataBytes = 1024 * 1024;

/** Whether a key of a ConfigMap or Secret is valid. */
export const isConfigKey = (key: string): boolean => validateConfigMapKey(key).length === 0;

/** Rules for the keys of ConfigMaps and Secrets. */
export const configKeyErrors = (path: FieldPath, key: string): FieldError[] =>
  validateConfigMapKey(key).map((message) => fieldErrors.invalid(path, key, message));

/**
 * Errors for changes of maps of an object that is immutable. An empty map differs from none, unless the defaults of the kind
 * make one (`defaulted`).
 */
export const immutableDataErrors = (
  object: KubeObject,
  old: DeepReadonly<KubeObject>,
  fields: readonly string[],
  defaulted: readonly string[] = [],
): FieldError[] =>
  fields
    .filter(
      (field) =>
        (wasEmpty(object, field) && !defaulted.includes(field)) ||
        !deepEqual(objectAt(object, field) ?? {}, objectAt(old, field) ?? {}),
    )
    .map(immutableData);

/** A change of a field that `immutable: true` has closed. */
export const immutableData = (field: string): FieldError =>
  fieldErrors.forbidden(field, 'field is immutable when `immutable` is set');

import { runToCompletion } from '../async/run-to-completion.ts';
import { appendErrors, fieldErrors, FieldPath, type FieldError } from './field-error.ts';
import { validateFieldManager } from './field-manager.ts';
import { validateFinalizers, validateNoNewFinalizers, validateStandardFinalizers } from './finalizers.ts';
import { isJsonObject, type DeepReadonly, type Json } from '../json/json.ts';
import { maskTrailingDash, validateDns1123Label, validateLabelValue, validateQualifiedName } from './names.ts';
import type { ObjectMeta } from '../meta/object.ts';
import { validateOwnerReferences } from './owner-references.ts';

export interface ObjectMetaRules {
  readonly namespaced: boolean;
  /** Messages for a bad name; gets the `generateName` with its trailing dash masked as well. */
  readonly validateName: (name: string) => string[];
  /** Default `metadata`. */
  readonly path?: FieldPath | undefined;
  /** Unqualified finalizers must be on Kubernetes' own list (ValidateObjectMeta of pkg/apis/core). */
  readonly standardFinalizers?: boolean;
}

const maxAnnotationBytes = 256 * 1024;
const maxSubresourceLength = 256;
const metadataPath = FieldPath.of('metadata');

/** Metadata of an object that is about to be created. Order of the errors as upstream. */
export const validateObjectMeta = (meta: DeepReadonly<ObjectMeta>, rules: ObjectMetaRules): FieldError[] =>
  runToCompletion(validateObjectMetaIncrementally(meta, rules));

/** {@link validateObjectMeta} in passes. */
export function* validateObjectMetaIncrementally(
  meta: DeepReadonly<ObjectMeta>,
  rules: ObjectMetaRules,
): Generator<void, FieldError[]> {
  const path = rules.path ?? metadataPath;
  const errors: FieldError[] = [];
  const { name = '', generateName = '', namespace = '', generation = 0 } = meta;
  if (generateName !== '') {
    for (const message of rules.validateName(maskTrailingDash(generateName))) {
      errors.push(fieldErrors.invalid(path.child('generateName'), generateName, message));
    }
  }
  if (name === '') errors.push(fieldErrors.required(path.child('name'), 'name or generateName is required'));
  else
    for (const message of rules.validateName(name)) errors.push(fieldErrors.invalid(path.child('name'), name, message));
  if (rules.namespaced) {
    if (namespace === '') errors.push(fieldErrors.required(path.child('namespace')));
    else
      for (const message of validateDns1123Label(namespace))
        errors.push(fieldErrors.invalid(path.child('namespace'), namespace, message));
  } else if (namespace !== '') {
    errors.push(fieldErrors.forbidden(path.child('namespace'), 'not allowed on this type'));
  }
  if (generation < 0)
    errors.push(fieldErrors.invalid(path.child('generation'), generation, 'must be greater than or equal to 0'));
  yield* validateMaps(meta, path, errors);
  if (meta.finalizers !== undefined)
    appendErrors(errors, validateFinalizers(meta.finalizers, path.child('finalizers')));
  if (meta.managedFields !== undefined)
    appendErrors(errors, validateManagedFields(meta.managedFields as Json[], path.child('managedFields')));
  if (rules.standardFinalizers === true && meta.finalizers !== undefined) {
    appendErrors(errors, validateStandardFinalizers(meta.finalizers, path.child('finalizers')));
  }
  return errors;
}

/**
 * Metadata of an update against the stored object. Whether an update without a resource version is allowed is
 * not asked here: the registry knows.
 */
export const validateObjectMetaUpdate = (
  now: DeepReadonly<ObjectMeta>,
  old: DeepReadonly<ObjectMeta>,
  path?: FieldPath,
): FieldError[] => runToCompletion(validateObjectMetaUpdateIncrementally(now, old, path));

/** {@link validateObjectMetaUpdate} in passes. */
export function* validateObjectMetaUpdateIncrementally(
  now: DeepReadonly<ObjectMeta>,
  old: DeepReadonly<ObjectMeta>,
  path: FieldPath = metadataPath,
): Generator<void, FieldError[]> {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) {
    appendErrors(errors, validateNoNewFinalizers(now.finalizers ?? [], old.finalizers ?? [], path.child('finalizers')));
  }
  const { generation = 0 } = now;
  if (generation < (old.generation ?? 0))
    errors.push(fieldErrors.invalid(path.child('generation'), generation, 'must not be decremented'));
  immutable(path.child('name'), now.name ?? '', old.name ?? '', errors);
  immutable(path.child('namespace'), now.namespace ?? '', old.namespace ?? '', errors);
  immutable(path.child('uid'), now.uid ?? '', old.uid ?? '', errors);
  immutable(path.child('creationTimestamp'), now.creationTimestamp ?? null, old.creationTimestamp ?? null, errors);
  immutable(path.child('deletionTimestamp'), now.deletionTimestamp ?? null, old.deletionTimestamp ?? null, errors);
  immutable(
    path.child('deletionGracePeriodSeconds'),
    now.deletionGracePeriodSeconds ?? null,
    old.deletionGracePeriodSeconds ?? null,
    errors,
  );
  yield* validateMaps(now, path, errors);
  if (now.managedFields !== undefined)
    appendErrors(errors, validateManagedFields(now.managedFields as Json[], path.child('managedFields')));
  return errors;
}

function immutable(
  path: FieldPath,
  now: string | number | null,
  old: string | number | null,
  errors: FieldError[],
): void {
  if (now !== old) errors.push(fieldErrors.invalid(path, now, 'field is immutable'));
}

/** Members of a map per pass. */
const membersPerPass = 2_000;

function* validateMaps(meta: DeepReadonly<ObjectMeta>, path: FieldPath, errors: FieldError[]): Generator<void, void> {
  if (meta.labels !== undefined)
    appendErrors(errors, yield* validateLabelsIncrementally(meta.labels, path.child('labels')));
  if (meta.annotations !== undefined)
    appendErrors(errors, yield* validateAnnotationsIncrementally(meta.annotations, path.child('annotations')));
  if (meta.ownerReferences !== undefined) {
    if (meta.ownerReferences.length > membersPerPass) yield;
    appendErrors(
      errors,
      validateOwnerReferences(
        meta.ownerReferences as NonNullable<ObjectMeta['ownerReferences']>,
        path.child('ownerReferences'),
      ),
    );
  }
}

/** Keys and values of labels. */
export const validateLabels = (labels: Readonly<Record<string, string>>, path: FieldPath): FieldError[] =>
  runToCompletion(validateLabelsIncrementally(labels, path));

function* validateLabelsIncrementally(
  labels: Readonly<Record<string, string>>,
  path: FieldPath,
): Generator<void, FieldError[]> {
  const errors: FieldError[] = [];
  // Names alone, here and below: a list of pairs takes three times as long, and hostile objects have 140,000 of them.
  const keys = Object.keys(labels);
  if (keys.length > membersPerPass) yield;
  let members = 0;
  for (const key of keys) {
    if (++members % membersPerPass === 0) yield;
    const value = labels[key] as string;
    for (const message of validateQualifiedName(key)) errors.push(fieldErrors.invalid(path, key, message));
    for (const message of validateLabelValue(value)) errors.push(fieldErrors.invalid(path, value, message));
  }
  return errors;
}

/** Keys of annotations, in any case, and the size of all of them together. */
export const validateAnnotations = (annotations: Readonly<Record<string, string>>, path: FieldPath): FieldError[] =>
  runToCompletion(validateAnnotationsIncrementally(annotations, path));

function* validateAnnotationsIncrementally(
  annotations: Readonly<Record<string, string>>,
  path: FieldPath,
): Generator<void, FieldError[]> {
  const errors: FieldError[] = [];
  const keys = Object.keys(annotations);
  if (keys.length > membersPerPass) yield;
  let length = 0;
  let members = 0;
  for (const key of keys) {
    if (++members % membersPerPass === 0) yield;
    for (const message of validateQualifiedName(key.toLowerCase()))
      errors.push(fieldErrors.invalid(path, key, message));
    length += key.length + (annotations[key] as string).length;
  }
  // At most three bytes for each of them: few annotations have to be counted.
  if (length * 3 > maxAnnotationBytes && exceeds(annotations, keys, maxAnnotationBytes))
    errors.push(fieldErrors.tooLong(path, maxAnnotationBytes));
  return errors;
}

function exceeds(annotations: Readonly<Record<string, string>>, keys: readonly string[], maxBytes: number): boolean {
  let bytes = 0;
  for (const key of keys) {
    bytes += Buffer.byteLength(key, 'utf8') + Buffer.byteLength(annotations[key] as string, 'utf8');
    if (bytes > maxBytes) return true;
  }
  return false;
}

/** The frame of each entry; what the entries say of fields is the business of server-side apply. */
export function validateManagedFields(entries: readonly Json[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  entries.forEach((entry, index) => {
    const at = path.index(index);
    const { operation = '', fieldsType = '', manager = '', subresource = '' } = isJsonObject(entry) ? entry : {};
    if (operation !== 'Apply' && operation !== 'Update') {
      errors.push(fieldErrors.invalid(at.child('operation'), operation, 'must be `Apply` or `Update`'));
    }
    if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
      errors.push(fieldErrors.invalid(at.child('fieldsType'), fieldsType, 'must be `FieldsV1`'));
    }
    if (typeof manager === 'string') appendErrors(errors, validateFieldManager(manager, at.child('manager')));
    if (typeof subresource === 'string' && Buffer.byteLength(subresource, 'utf8') > maxSubresourceLength) {
      errors.push(fieldErrors.tooLong(at.child('subresource'), maxSubresourceLength));
    }
  });
  return errors;
}

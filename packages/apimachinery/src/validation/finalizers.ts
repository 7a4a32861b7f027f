import { quote } from '../go/go-quote.ts';
import { fieldErrors, type FieldError, type FieldPath } from './field-error.ts';
import { validateQualifiedName } from './names.ts';

/** Dependents keep living when the object goes. */
export const orphanFinalizer = 'orphan';
/** Dependents go first. */
export const foregroundFinalizer = 'foregroundDeletion';

const standardFinalizers = new Set(['kubernetes', orphanFinalizer, foregroundFinalizer]);

/** Syntax of finalizers, and that the two of the garbage collector do not contradict each other. */
export function validateFinalizers(finalizers: readonly string[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  for (const finalizer of finalizers) {
    for (const message of validateQualifiedName(finalizer)) errors.push(fieldErrors.invalid(path, finalizer, message));
  }
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    errors.push(fieldErrors.invalid(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'));
  }
  return errors;
}

/** Built-in kinds and `spec.finalizers` of namespaces: a name without a domain must be one of Kubernetes' own. */
export function validateStandardFinalizers(finalizers: readonly string[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  finalizers.forEach((finalizer, index) => {
    if (!finalizer.includes('/') && !standardFinalizers.has(finalizer)) {
      errors.push(
        fieldErrors.invalid(
          path.index(index),
          finalizer,
          'name is neither a standard finalizer name nor is it fully qualified',
        ),
      );
    }
  });
  return errors;
}

/** An object that is being deleted gets no further finalizers. */
export function validateNoNewFinalizers(
  now: readonly string[],
  before: readonly string[],
  path: FieldPath,
): FieldError[] {
  const old = new Set(before);
  const added = [...new Set(now.filter((finalizer) => !old.has(finalizer)))].sort();
  if (added.length === 0) return [];
  const list = added.map((finalizer) => quote(finalizer)).join(', ');
  return [
    fieldErrors.forbidden(
      path,
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
    ),
  ];
}

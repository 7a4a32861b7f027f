import { fieldErrors, type FieldError, type FieldPath } from './field-error.ts';
import { gvkText, parseApiVersion } from '../meta/group-version.ts';
import type { OwnerReference } from '../meta/object.ts';

/** Owner references. Paths carry no index, as upstream. */
export function validateOwnerReferences(references: readonly OwnerReference[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  for (const reference of references) errors.push(...validateOwnerReference(reference, path));
  let controller = '';
  for (const { kind, name, ['controller']: isController } of references) {
    if (isController !== true) continue;
    const text = `${kind}/${name}`;
    if (controller === '') {
      controller = text;
    } else {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${text}`;
      errors.push(fieldErrors.invalid(path, references, detail));
    }
  }
  return errors;
}

function validateOwnerReference(reference: OwnerReference, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const { apiVersion = '', kind = '', name = '', uid = '' } = reference as Partial<OwnerReference>;
  const version = parseApiVersion(apiVersion) ?? { group: '', version: '' };
  if (version.version === '')
    errors.push(fieldErrors.invalid(path.child('apiVersion'), apiVersion, 'version must not be empty'));
  if (kind === '') errors.push(fieldErrors.invalid(path.child('kind'), kind, 'must not be empty'));
  if (name === '') errors.push(fieldErrors.invalid(path.child('name'), name, 'must not be empty'));
  if (uid === '') errors.push(fieldErrors.invalid(path.child('uid'), uid, 'must not be empty'));
  // Events expire by themselves; what they owned would be deleted with them.
  if (version.group === '' && version.version === 'v1' && kind === 'Event') {
    errors.push(
      fieldErrors.invalid(path, reference, `${gvkText({ ...version, kind })} is disallowed from being an owner`),
    );
  }
  return errors;
}

/**
 * Drops references to an owner that is named already (same uid, and nothing else different), and returns the uids.
 * The text for the warning is {@link duplicateOwnersWarning}.
 */
export function dedupOwnerReferences(references: readonly OwnerReference[]): {
  references: OwnerReference[];
  duplicates: string[];
} {
  // Nearly always all differ, and an object may have 70,000.
  if (new Set(references.map(({ uid }) => uid)).size === references.length)
    return { references: [...references], duplicates: [] };
  /** By uid, because only references with the same one are compared. */
  const seen = new Map<string, { readonly first: OwnerReference; identities?: Set<string> }>();
  const duplicates: string[] = [];
  const kept = references.filter((reference) => {
    const same = seen.get(reference.uid);
    if (same === undefined) {
      seen.set(reference.uid, { first: reference });
      return true;
    }
    same.identities ??= new Set([identityOf(same.first)]);
    const identity = identityOf(reference);
    if (same.identities.has(identity)) {
      duplicates.push(reference.uid);
      return false;
    }
    same.identities.add(identity);
    return true;
  });
  return { references: kept, duplicates };
}

const identityOf = (reference: OwnerReference): string =>
  JSON.stringify(Object.entries(reference).sort(([a], [b]) => (a < b ? -1 : 1)));

/** The `Warning` for references that {@link dedupOwnerReferences} dropped, before or after mutating admission. */
export function duplicateOwnersWarning(uids: readonly string[], when: 'request' | 'admission'): string {
  const text = '.metadata.ownerReferences contains duplicate entries';
  return when === 'request'
    ? `${text}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids.join(', ')}`
    : `${text} after mutating admission happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids.join(', ')}`;
}

import {
  errorText,
  fieldErrors,
  JsonPath,
  parseFieldSelector,
  type FieldError,
  type FieldPath,
} from '@multiplane/apimachinery';
import { builtInResources, claimKey, type ClaimReference, type PermissionClaim } from '@multiplane/apis';

type Claimed = Pick<PermissionClaim, 'group' | 'resource' | 'identityHash' | 'objects'>;

/** Problems of the objects that a claim names, which its schema does not see. `path`: of the claim. */
export function claimedObjectsErrors(claim: Claimed, path: FieldPath): FieldError[] {
  const { objects = {} } = claim;
  const { fieldSelector, references = [] } = objects;
  const within = path.child('objects');
  return [
    ...(fieldSelector === undefined
      ? []
      : problemOf(() => checkFields(claim, fieldSelector), within.child('fieldSelector'), fieldSelector)),
    ...references.flatMap(({ path: text }, index) =>
      problemOf(() => new JsonPath(text), within.child('references').index(index).child('path'), text),
    ),
  ];
}

/** References from resources that the export does not have. */
export function referenceErrors(
  { objects = {} }: Pick<PermissionClaim, 'objects'>,
  resources: readonly { readonly group?: string; readonly name: string }[],
  path: FieldPath,
): FieldError[] {
  const isExported = ({ group = '', resource }: ClaimReference): boolean =>
    resources.some((exported) => exported.name === resource && (exported.group ?? '') === group);
  return (objects.references ?? []).flatMap((reference, index) =>
    isExported(reference)
      ? []
      : [
          fieldErrors.invalid(
            path.child('objects', 'references').index(index).child('resource'),
            reference.resource,
            'must be a resource of this APIExport',
          ),
        ],
  );
}

/**
 * Throws for a field by which the kind cannot be selected: its value would be empty, and `!=` would select every object. Throws
 * for fields of the status: a write of the status keeps the labels, so the object would stay in a claim that it has left.
 */
function checkFields({ group = '', resource, identityHash = '' }: Claimed, text: string): void {
  const key = claimKey({ group, resource });
  const kinds = identityHash === '' ? builtInResources().filter((definition) => claimKey(definition) === key) : [];
  for (const { field } of parseFieldSelector(text).requirements) {
    if (field.startsWith('status.')) throw new Error(`a claim cannot select by a field of the status: ${field}`);
    if (field === 'metadata.name' || field === 'metadata.namespace' || kinds.length === 0) continue;
    if (!kinds.some(({ fieldSelectors }) => Object.hasOwn(fieldSelectors, field)))
      throw new Error(`field label not supported: ${field}`);
  }
}

function problemOf(read: () => unknown, path: FieldPath, value: string): FieldError[] {
  try {
    read();
    return [];
  } catch (error) {
    return [fieldErrors.invalid(path, value, errorText(error))];
  }
}

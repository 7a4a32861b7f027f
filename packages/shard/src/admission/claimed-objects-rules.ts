import {
  errorText,
  fieldErrors,
  JsonPath,
  parseFieldSelector,
  type FieldError,
  type FieldPath,
} from '@multiplane/apimachinery';
import type { ClaimReference, PermissionClaim } from '@multiplane/apis';

/** Problems of the objects that a claim names, which its schema does not see. `path`: of the claim. */
export function claimedObjectsErrors(
  { objects = {} }: Pick<PermissionClaim, 'objects'>,
  path: FieldPath,
): FieldError[] {
  const { fieldSelector, references = [] } = objects;
  const within = path.child('objects');
  return [
    ...(fieldSelector === undefined
      ? []
      : problemOf(() => parseFieldSelector(fieldSelector), within.child('fieldSelector'), fieldSelector)),
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

function problemOf(read: () => unknown, path: FieldPath, value: string): FieldError[] {
  try {
    read();
    return [];
  } catch (error) {
    return [fieldErrors.invalid(path, value, errorText(error))];
  }
}

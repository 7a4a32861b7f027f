import {
  labelSelectorFromObject,
  parseFieldSelector,
  type DeepReadonly,
  type GroupResource,
  type Json,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { ClaimedObjects, ClaimSelector, ScopedPermissionClaim } from '@multiplane/apis';

export type Labels = Readonly<Record<string, string>>;

/** What of an object a claim looks at. */
export interface SelectedObject extends GroupResource {
  readonly cluster: LogicalClusterName;
  /** Empty for an object without one. */
  readonly namespace: string;
  /** Empty before a name is generated from `generateName`. */
  readonly name: string;
  /** Value of a field that the resource selects by, beyond name and namespace; empty for another one. */
  readonly field: (name: string) => string;
}

export type Selection = (object: SelectedObject, labels: Labels) => boolean;

/**
 * The objects of a claim. `isNamed`: whether an object of the export names it; asked only for claims with references.
 * A selector that is empty or invalid matches nothing.
 */
export function claimSelection(
  { selector, objects }: DeepReadonly<Pick<ScopedPermissionClaim, 'selector' | 'objects'>>,
  isNamed: (object: SelectedObject) => boolean,
): Selection {
  const byLabels = labelSelection(selector);
  if (objects === undefined) return (_object, labels) => byLabels(labels);
  const byObject = objectSelection(objects);
  const isReferred = objects.references === undefined ? () => true : isNamed;
  return (object, labels) => byLabels(labels) && byObject(object) && isReferred(object);
}

function labelSelection(selector: DeepReadonly<ClaimSelector> | undefined): (labels: Labels) => boolean {
  if (selector?.matchAll === true) return () => true;
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  if (Object.keys(matchLabels).length === 0 && matchExpressions.length === 0) return () => false;
  try {
    const parsed = labelSelectorFromObject({ matchLabels, matchExpressions } as unknown as Json);
    return (labels) => parsed.matches(labels);
  } catch {
    return () => false;
  }
}

function objectSelection(objects: DeepReadonly<ClaimedObjects>): (object: SelectedObject) => boolean {
  const names = objects.names === undefined ? undefined : new Set(objects.names);
  const namespaces = objects.namespaces === undefined ? undefined : new Set(objects.namespaces);
  const byFields = fieldSelection(objects.fieldSelector);
  return (object) =>
    names?.has(object.name) !== false && namespaces?.has(object.namespace) !== false && byFields(object);
}

function fieldSelection(text: string | undefined): (object: SelectedObject) => boolean {
  if (text === undefined) return () => true;
  try {
    const selector = parseFieldSelector(text);
    return (object) =>
      selector.matches((field) =>
        field === 'metadata.name'
          ? object.name
          : field === 'metadata.namespace'
            ? object.namespace
            : object.field(field),
      );
  } catch {
    return () => false;
  }
}

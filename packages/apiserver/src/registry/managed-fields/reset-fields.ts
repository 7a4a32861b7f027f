import { FieldSet, fieldElement } from '@multiplane/apimachinery';
import type { FieldManagerKind } from './field-manager-request.ts';

const spec = [fieldElement('spec')];
const status = [fieldElement('status')];
const metadata = [fieldElement('metadata')];

/** Fields that no manager owns: they are set by the server, or identify the object. */
const unmanaged = FieldSet.of(
  [fieldElement('apiVersion')],
  [fieldElement('kind')],
  metadata,
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'clusterName',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((field) => [...metadata, fieldElement(field)]),
);

/** The set without {@link unmanaged} fields. */
export function withoutUnmanaged(set: FieldSet): FieldSet {
  return set.difference(unmanaged);
}

/** Built-in groups whose status endpoint ignores metadata. */
const metadataKeepers = new Set([
  'apiextensions.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'admissionregistration.k8s.io',
]);

const all = (set: FieldSet): FieldSet => set;
const exceptFor =
  (...paths: readonly (readonly string[])[]): ((set: FieldSet) => FieldSet) =>
  (set) =>
    set.recursiveDifference(FieldSet.of(...paths));

const exceptStatus = exceptFor(status);
const exceptSpec = exceptFor(spec);
const exceptSpecAndMetadata = exceptFor(spec, metadata);

/** The status endpoint of a custom resource changes nothing but the status. */
function onlyStatus(set: FieldSet): FieldSet {
  const [element] = status as [string];
  const node = set.children?.get(element);
  return FieldSet.node(false, node === undefined ? undefined : new Map([[element, node]]));
}

/**
 * Removes from a set the fields that an endpoint cannot change (`resetFields` of Kubernetes), so that managers do not come to
 * own fields whose values the server ignored.
 */
export function resetFilter(definition: FieldManagerKind, subresource: string): (set: FieldSet) => FieldSet {
  switch (subresource) {
    case '':
      return definition.subresources['status'] === undefined ? all : exceptStatus;
    case 'status':
      if (definition.origin === 'custom') return onlyStatus;
      return metadataKeepers.has(definition.group) ? exceptSpecAndMetadata : exceptSpec;
    case 'finalize':
      return exceptStatus;
    case 'approval':
      return exceptSpec;
    default:
      return all;
  }
}

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
const metadataKeepers = new Set(['flowcontrol.apiserver.k8s.io', 'admissionregistration.k8s.io']);

const all = (set: FieldSet): FieldSet => set;
const exceptFor =
  (...paths: readonly (readonly string[])[]): ((set: FieldSet) => FieldSet) =>
  (set) =>
    set.recursiveDifference(FieldSet.of(...paths));

const exceptStatus = exceptFor(status);
const exceptSpec = exceptFor(spec);
const exceptSpecAndMetadata = exceptFor(spec, metadata);

/** The spec of a request for a certificate never changes, and each endpoint writes one part of its status. */
const certificates = 'certificates.k8s.io';
const certificateFilters: Readonly<Record<string, (set: FieldSet) => FieldSet>> = {
  '': exceptFor(spec, status),
  status: exceptFor(spec, [...status, fieldElement('conditions')]),
  approval: exceptFor(spec, [...status, fieldElement('certificate')]),
};

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
  if (definition.group === certificates) return certificateFilters[subresource] ?? all;
  switch (subresource) {
    case '':
      return definition.subresources['status'] === undefined ? all : exceptStatus;
    case 'status':
      if (definition.origin === 'custom') return onlyStatus;
      return metadataKeepers.has(definition.group) ? exceptSpecAndMetadata : exceptSpec;
    case 'finalize':
      return exceptStatus;
    default:
      return all;
  }
}

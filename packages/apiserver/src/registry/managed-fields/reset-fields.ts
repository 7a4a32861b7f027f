import { FieldSet, fieldElement } from '@multiplane/apimachinery';
import type { FieldKind } from './field-write.ts';

const spec = [fieldElement('spec')];
const status = [fieldElement('status')];
const metadata = [fieldElement('metadata')];

/** What no manager owns: it is the server's, or says which object it is (K4.6). */
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

/** Built-in groups whose status endpoint takes nothing of metadata. */
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

/** Of a custom resource's status endpoint: what it takes is the status, whatever else the object has. */
function onlyStatus(set: FieldSet): FieldSet {
  const [element] = status as [string];
  const node = set.children?.get(element);
  return FieldSet.node(false, node === undefined ? undefined : new Map([[element, node]]));
}

/** Takes off a set what an endpoint cannot change, so that nobody comes to own it there (K5.10, K2.8). */
export function resetFilter(definition: FieldKind, subresource: string): (set: FieldSet) => FieldSet {
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

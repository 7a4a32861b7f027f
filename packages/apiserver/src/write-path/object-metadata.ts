import {
  type FieldError,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
  type ObjectMeta,
  apiVersionOf,
  clusterAnnotation,
  dedupOwnerReferences,
  duplicateOwnersWarning,
  fieldErrors,
  statusErrors,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { storedKindOf } from '../registry/definitions/group-resource.ts';
import type { WriteRequest } from './write-request.ts';

/** Removes the annotation `kcp.io/cluster` before validation: the size limit applies to the client's annotations only. */
export function unsetCluster(metadata: ObjectMeta): void {
  const { annotations } = metadata;
  if (annotations === undefined || !Object.hasOwn(annotations, clusterAnnotation)) return;
  const { [clusterAnnotation]: _, ...others } = annotations;
  metadata.annotations = others;
}

/** Sets the annotation `kcp.io/cluster`, whatever the client sent. */
export function setCluster(metadata: ObjectMeta, cluster: LogicalClusterName): void {
  if (metadata.annotations?.[clusterAnnotation] === cluster) return;
  const annotations = { ...metadata.annotations };
  annotations[clusterAnnotation] = cluster;
  metadata.annotations = annotations;
}

const wiped = ['creationTimestamp', 'uid', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink'] as const;

/** Removes fields that a client cannot set on a new object. */
export function wipeServerOwned(metadata: ObjectMeta): void {
  // `in` first: few clients send any of these fields, and deleting an absent one is not cheaper than an existing one.
  for (const field of wiped) if (field in metadata) delete (metadata as JsonObject)[field];
}

/** Removes empty members: absent and empty are equivalent, and only absent members are stored. */
export function dropEmpty(metadata: ObjectMeta): void {
  const fields = metadata as unknown as Record<string, unknown>;
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (
      value === undefined ||
      value === '' ||
      value === null ||
      (typeof value === 'object' && Object.keys(value).length === 0)
    ) {
      delete fields[key];
    }
  }
}

/**
 * Removes repeated owner references and warns the client, as Kubernetes does: in the body of a POST or PUT (`request`), and in
 * what mutating admission has made of any write.
 */
export function dropDuplicateOwners(
  object: KubeObject,
  request: Pick<WriteRequest, 'warn'>,
  when: 'request' | 'admission',
): void {
  const { ownerReferences } = object.metadata;
  if (ownerReferences === undefined || ownerReferences.length < 2) return;
  const { references, duplicates } = dedupOwnerReferences(ownerReferences);
  if (duplicates.length === 0) return;
  object.metadata.ownerReferences = references;
  request.warn(duplicateOwnersWarning(duplicates, when));
}

/** Checks kind and version of a custom resource, which its decoder does not. Throws 422. */
export function checkKind(definition: ResourceDefinition, object: KubeObject): void {
  if (definition.origin === 'built-in') return;
  const errors: FieldError[] = [];
  const apiVersion = apiVersionOf(definition);
  if (object.apiVersion !== apiVersion)
    errors.push(fieldErrors.invalid('apiVersion', object.apiVersion ?? '', `must be ${apiVersion}`));
  if (object.kind !== definition.kind)
    errors.push(fieldErrors.invalid('kind', object.kind ?? '', `must be ${definition.kind}`));
  if (errors.length > 0)
    throw statusErrors.invalid(storedKindOf(definition, object.kind), object.metadata.name ?? '', errors);
}

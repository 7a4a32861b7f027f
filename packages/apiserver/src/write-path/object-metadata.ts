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
import type { Clock } from '@multiplane/component-base';
import type { WriteRequest } from './write-request.ts';

/** The annotation is the server's: it is taken off before validation, whose limits are the client's. */
export function unsetCluster(metadata: ObjectMeta): void {
  const { annotations } = metadata;
  if (annotations === undefined || !Object.hasOwn(annotations, clusterAnnotation)) return;
  const { [clusterAnnotation]: _, ...others } = annotations;
  metadata.annotations = others;
}

/** Every object says which logical cluster it is of, whatever the client sent (C4.2). */
export function setCluster(metadata: ObjectMeta, cluster: LogicalClusterName): void {
  if (metadata.annotations?.[clusterAnnotation] === cluster) return;
  const annotations = { ...metadata.annotations };
  annotations[clusterAnnotation] = cluster;
  metadata.annotations = annotations;
}

const wiped = ['creationTimestamp', 'uid', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink'] as const;

/** Fields of metadata that a client cannot set on a new object (K2.1). */
export function wipeServerOwned(metadata: ObjectMeta): void {
  // Looked at first: few clients send any of them, and taking off what is not there costs as much as what is.
  for (const field of wiped) if (field in metadata) delete (metadata as JsonObject)[field];
}

/** Absent and empty are the same: afterwards only the former occurs. */
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

/** Equal owner references stand once; the client is warned (K1.7). */
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

/** Now, as metadata carries times: whole seconds, UTC. */
export function metadataTime(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`;
}

/** {@link metadataTime} of now, made once a second. */
export class MetadataTimes {
  readonly #clock: Pick<Clock, 'now'>;
  #second = Number.NaN;
  #text = '';

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  now(): string {
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = metadataTime(second * 1000);
    }
    return this.#text;
  }
}

/** A custom resource is held to its kind and version only here: its decoder takes any (K1.7). Throws 422. */
export function checkKind(definition: ResourceDefinition, object: KubeObject): void {
  if (definition.origin === 'built-in') return;
  const errors: FieldError[] = [];
  const apiVersion = apiVersionOf(definition);
  if (object.apiVersion !== apiVersion)
    errors.push(fieldErrors.invalid('apiVersion', object.apiVersion ?? '', `must be ${apiVersion}`));
  if (object.kind !== definition.kind)
    errors.push(fieldErrors.invalid('kind', object.kind ?? '', `must be ${definition.kind}`));
  if (errors.length > 0)
    throw statusErrors.invalid({ group: definition.group, kind: object.kind }, object.metadata.name ?? '', errors);
}

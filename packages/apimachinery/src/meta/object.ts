import type { Json, JsonObject } from '../json/json.ts';

/** metav1.OwnerReference. */
export interface OwnerReference extends JsonObject {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

/**
 * metav1.ObjectMeta as it travels. Absent and empty are the same thing for every optional field; writers leave a field
 * out rather than storing an empty value.
 */
export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  /** Not used any more; an update may still set it. */
  selfLink?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  /** RFC 3339, whole seconds, UTC (`2006-01-02T15:04:05Z`). */
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: Json[];
}

/** Any API object. Fields besides these three are the kind's own. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** A list as a client receives it. */
export interface KubeList<T = KubeObject> {
  apiVersion: string;
  kind: string;
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  items: T[];
}

/** The object seen as plain JSON, for code that walks by path. Same reference, no copy. */
export function asJson(object: KubeObject): JsonObject {
  return object as unknown as JsonObject;
}

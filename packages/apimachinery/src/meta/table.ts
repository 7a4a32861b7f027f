import type { Json } from '../json/json.ts';
import type { KubeObject, ObjectMeta } from './object.ts';

/** metav1.TableColumnDefinition, fields in the order of the wire. */
export interface TableColumnDefinition {
  readonly name: string;
  /** `string`, `integer`, `number`, `boolean` or `date`. */
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0: always shown; above: only with `-o wide`. */
  readonly priority: number;
}

/** metav1.PartialObjectMetadata: an object without anything but its metadata. */
export interface PartialObjectMetadata {
  kind: 'PartialObjectMetadata';
  apiVersion: 'meta.k8s.io/v1' | 'meta.k8s.io/v1beta1';
  metadata: ObjectMeta;
}

/** metav1.TableRow. `object` is what `includeObject` asks for: null, the metadata, or the whole object. */
export interface TableRow {
  cells: Json[];
  object: PartialObjectMetadata | KubeObject | null;
}

/** metav1.Table. */
export interface Table {
  kind: 'Table';
  apiVersion: 'meta.k8s.io/v1' | 'meta.k8s.io/v1beta1';
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  columnDefinitions: readonly TableColumnDefinition[];
  rows: TableRow[];
}

/** `includeObject` of a request for a table; the empty text is `Metadata`. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

import { encodeYaml } from '@multiplane/apimachinery';
import type { KubeObject } from '../data/kube-object.ts';

/** The YAML of an object for people: without the bookkeeping of server-side apply, which a write without it does not change. */
export function editableYaml(object: KubeObject): string {
  const { managedFields: _bookkeeping, ...metadata } = object.metadata;
  return encodeYaml({ ...object, metadata });
}

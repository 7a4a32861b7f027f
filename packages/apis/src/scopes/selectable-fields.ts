import type { DeepReadonly } from '@multiplane/apimachinery';
import type { APIResourceSchema, ExportedResource } from '../kcp/api-sharing.ts';
import { virtualStorageOf } from '../kcp/virtual-storage.ts';

/**
 * Paths, with a leading dot, by which scopes can divide the objects of an exported resource: those that the storage version of
 * its APIResourceSchema declares in `selectableFields`. None for a virtual resource, whose objects are stored elsewhere.
 */
export function selectableFieldsOf(
  exported: DeepReadonly<ExportedResource>,
  schema: DeepReadonly<APIResourceSchema> | undefined,
): string[] {
  if (virtualStorageOf(exported) !== undefined) return [];
  const stored = schema?.spec?.versions.find(({ storage }) => storage);
  return (stored?.selectableFields ?? []).map(({ jsonPath }) => jsonPath);
}

import { compareBytewise, type DeepReadonly, type LogicalClusterName } from '@multiplane/apimachinery';
import type { APIExport, APIResourceSchema } from '@multiplane/apis';
import type { Lister } from '@multiplane/client';
import type { BindingList } from '../consumer-bindings.ts';

export type BoundSchema = DeepReadonly<APIResourceSchema>;

export interface BoundSchemasModules {
  /** APIExports of all shards. */
  readonly exports: Lister<APIExport>;
  readonly schemas: Lister<APIResourceSchema>;
}

/** Logical clusters of the bound exports: only changes in them can change what the consumer sees. */
export function exportClustersOf(bindings: BindingList): Set<string> {
  return new Set(bindings.filter(isBound).map(({ status }) => status?.apiExportClusterName as string));
}

/**
 * The schemas of the bound exports' current resources, by `<cluster>/<name>`, in the order of the bindings' names.
 * Schemas of two providers may have the same name; they are distinguished by their logical cluster.
 */
export function boundSchemas(
  bindings: BindingList,
  { exports, schemas }: BoundSchemasModules,
): Map<string, BoundSchema> {
  const found = new Map<string, BoundSchema>();
  const inOrder = bindings
    .filter(isBound)
    .toSorted((a, b) => compareBytewise(a.metadata.name ?? '', b.metadata.name ?? ''));
  for (const { spec, status } of inOrder) {
    const cluster = status?.apiExportClusterName as LogicalClusterName;
    const name = spec?.reference?.export?.name ?? '';
    for (const { schema } of exports.get({ cluster, namespace: '', name })?.spec?.resources ?? []) {
      const object = schemas.get({ cluster, namespace: '', name: schema });
      if (object !== undefined) found.set(`${cluster}/${schema}`, object);
    }
  }
  return found;
}

const isBound = ({ status }: BindingList[number]): boolean =>
  status?.phase === 'Bound' && (status.apiExportClusterName ?? '') !== '';

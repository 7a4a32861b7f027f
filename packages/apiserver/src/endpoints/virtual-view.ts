import type { ResourceDefinition } from '@multiplane/apis';

/**
 * Query parameter of a read with the parts of a response that virtual workspaces show differently than a workspace, as those of
 * kcp, which know the kinds by their APIResourceSchemas alone (`forwardingregistry`): `nameColumn`, tables have the
 * name only; `kinds`, each item of a list has its kind. It reveals nothing, so it may come from any client.
 */
export const virtualViewParameter = 'virtualView';
export type VirtualView = 'nameColumn' | 'kinds';

export const hasVirtualView = (query: URLSearchParams, view: VirtualView): boolean =>
  query.get(virtualViewParameter)?.split(',').includes(view) === true;

const nameColumnOnly = new WeakMap<ResourceDefinition, ResourceDefinition>();

/** The definition with the first column of its table. */
export function withNameColumn(definition: ResourceDefinition): ResourceDefinition {
  let narrowed = nameColumnOnly.get(definition);
  if (narrowed === undefined) {
    const { tableConvertor } = definition;
    narrowed = {
      ...definition,
      tableConvertor: {
        columns: tableConvertor.columns.slice(0, 1),
        cells: (object, now) => tableConvertor.cells(object, now).slice(0, 1),
      },
    };
    nameColumnOnly.set(definition, narrowed);
  }
  return narrowed;
}

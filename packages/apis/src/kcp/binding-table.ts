import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import { listAt, textAt } from '../fields.ts';
import type { TableConvertor } from '../table-convertor.ts';
import { column } from '../tables/columns.ts';

const virtualColumn = column('Virtual', {
  priority: 1,
  description: 'Bound resources whose objects are not stored in this workspace.',
});

/**
 * kcp's columns of an APIBinding and, with `-o wide`, its virtual resources. A JSONPath column shows one value only, so this
 * column is computed.
 */
export function bindingTable(table: TableConvertor): TableConvertor {
  return {
    columns: [...table.columns, virtualColumn],
    cells: (object, now) => [...table.cells(object, now), virtualResourcesOf(object).join(',') || null],
  };
}

/** Bound resources as `resource.group`. Bound resources without storage versions are virtual. */
export function virtualResourcesOf(binding: DeepReadonly<KubeObject>): readonly string[] {
  return listAt(binding, 'status', 'boundResources')
    .filter((bound) => listAt(bound, 'storageVersions').length === 0)
    .map((bound) => {
      const [group, resource] = [textAt(bound, 'group'), textAt(bound, 'resource')];
      return group === '' ? resource : `${resource}.${group}`;
    });
}

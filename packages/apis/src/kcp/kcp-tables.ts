import type { DeepReadonly, Json, KubeObject } from '@multiplane/apimachinery';
import { listAt, objectAt, textAt } from '../fields.ts';
import type { TableColumn, TableConvertor } from '../table-convertor.ts';
import { column } from '../tables/columns.ts';

interface ComputedColumn {
  readonly column: TableColumn;
  readonly value: (object: DeepReadonly<KubeObject>) => string;
}

/** Columns after those of kcp, by kind. A JSONPath column shows one value only, so these are computed. */
const computedColumns: Readonly<Record<string, readonly ComputedColumn[]>> = {
  APIBinding: [
    {
      column: column('Export', { description: 'The bound APIExport, with the path of its workspace.' }),
      value: exportOf,
    },
    {
      column: column('Claims', {
        description: 'How many permission claims of the export are accepted or rejected, of how many.',
      }),
      value: answeredClaims,
    },
    {
      column: column('Virtual', {
        priority: 1,
        description: 'Bound resources whose objects are not stored in this workspace.',
      }),
      value: (binding) => virtualResourcesOf(binding).join(','),
    },
  ],
  APIExport: [
    {
      column: column('Valid', { description: 'True, or the reason why consumers cannot use the export.' }),
      value: validityOf,
    },
    {
      column: column('Identity', { description: 'Hash of the identity, for permission claims of other exports.' }),
      value: (exported) => textAt(exported, 'status', 'identityHash'),
    },
  ],
  Workspace: [
    {
      column: column('Reason', { description: 'What holds up a workspace that is not Ready.' }),
      value: (workspace) =>
        textAt(workspace, 'status', 'phase') === 'Ready' ? '' : textAt(unmetConditions(workspace)[0] ?? {}, 'reason'),
    },
  ],
};

/** The table of a kind of kcp: kcp's columns first, so that scripts which count them work. */
export function kcpTable(kind: string, table: TableConvertor): TableConvertor {
  const computed = Object.hasOwn(computedColumns, kind) ? (computedColumns[kind] ?? []) : [];
  if (computed.length === 0) return table;
  return {
    columns: [...table.columns, ...computed.map((each) => each.column)],
    cells: (object, now) => [...table.cells(object, now), ...computed.map(({ value }) => value(object) || null)],
  };
}

const unmetConditions = (object: DeepReadonly<KubeObject>): readonly DeepReadonly<Json>[] =>
  listAt(object, 'status', 'conditions').filter((condition) => textAt(condition, 'status') === 'False');

/** Without conditions nothing is known yet. */
function validityOf(exported: DeepReadonly<KubeObject>): string {
  if (listAt(exported, 'status', 'conditions').length === 0) return 'Unknown';
  const [unmet] = unmetConditions(exported);
  return unmet === undefined ? 'True' : textAt(unmet, 'reason') || 'False';
}

function exportOf(binding: DeepReadonly<KubeObject>): string {
  const reference = objectAt(binding, 'spec', 'reference', 'export') ?? {};
  const [path, name] = [textAt(reference, 'path'), textAt(reference, 'name')];
  return path === '' ? name : `${path}:${name}`;
}

/** As `1/2`; empty without claims. */
function answeredClaims(binding: DeepReadonly<KubeObject>): string {
  const keyOf = (claim: DeepReadonly<Json>): string =>
    JSON.stringify(['group', 'resource', 'identityHash'].map((field) => textAt(claim, field)));
  const answered = new Set(
    listAt(binding, 'spec', 'permissionClaims')
      .filter((claim) => ['Accepted', 'Rejected'].includes(textAt(claim, 'state')))
      .map(keyOf),
  );
  const claims = listAt(binding, 'status', 'exportPermissionClaims').map(keyOf);
  return claims.length === 0 ? '' : `${claims.filter((claim) => answered.has(claim)).length}/${claims.length}`;
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

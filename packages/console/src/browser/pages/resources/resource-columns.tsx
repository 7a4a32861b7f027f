import { Age } from '../../components/age.tsx';
import { Badge } from '../../components/badge.tsx';
import type { DataColumn } from '../../components/data-table.tsx';
import type { TableRow } from '../../data/kube-object.ts';
import { cellText } from '../../model/compare-cells.ts';
import type { TableColumn } from '../../model/table-columns.ts';
import { phaseTone, type Tone } from '../../model/tone.ts';

/** The columns of the server's table, with that of the namespace where objects of several are shown. */
export function dataColumns(columns: readonly TableColumn[], showsNamespace: boolean): readonly DataColumn<TableRow>[] {
  const own = columns.map((column): DataColumn<TableRow> => ({
    id: column.id,
    title: column.title,
    description: column.description,
    weight: column.weight,
    isNumber: column.kind === 'number',
    // Ages are sorted by the time, the youngest first.
    value: (row) =>
      column.kind === 'age'
        ? -Date.parse(row.object.metadata.creationTimestamp ?? '') || undefined
        : row.cells[column.index],
    ...renderer(column),
  }));
  if (!showsNamespace) return own;
  const namespace: DataColumn<TableRow> = {
    id: 'namespace',
    title: 'Namespace',
    weight: 1.4,
    value: ({ object }) => object.metadata.namespace,
  };
  return [...own.slice(0, 1), namespace, ...own.slice(1)];
}

function renderer({ kind, index }: TableColumn): Pick<DataColumn<TableRow>, 'render'> {
  switch (kind) {
    case 'name':
      return {
        render: ({ cells, object }) => (
          <span className="cell-name">{cellText(cells[index] ?? object.metadata.name)}</span>
        ),
      };
    case 'age':
      return {
        render: ({ object: { metadata } }) =>
          metadata.creationTimestamp !== undefined && <Age of={metadata.creationTimestamp} />,
      };
    case 'state':
      return {
        render: ({ cells }) => {
          const text = cellText(cells[index]);
          return text === '' ? '' : <Badge tone={stateTone(text)}>{text}</Badge>;
        },
      };
    case 'number':
    case 'text':
      return {};
  }
}

const stateTone = (text: string): Tone => (text === 'True' ? 'good' : text === 'False' ? 'bad' : phaseTone(text));

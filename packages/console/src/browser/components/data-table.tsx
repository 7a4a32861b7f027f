import {
  columnVisibilityFeature,
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
  useTable,
  type ColumnDef,
  type SortingState,
} from '@tanstack/react-table';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, useState, type KeyboardEvent, type ReactElement, type ReactNode } from 'react';
import { cellText, compareCells } from '../model/compare-cells.ts';
import { Icon } from './icon.tsx';

export interface DataColumn<T> {
  readonly id: string;
  readonly title: string;
  /** Explains the column when the pointer rests on its title. */
  readonly description?: string | undefined;
  /** What the column is sorted by. */
  readonly value: (row: T) => unknown;
  /** Default: the value as text. */
  readonly render?: (row: T) => ReactNode;
  /** A share of the width; default 1. */
  readonly weight?: number;
  readonly isNumber?: boolean;
}

export interface DataTableProps<T extends object> {
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly DataColumn<T>[];
  readonly keyOf: (row: T) => string;
  readonly hidden?: ReadonlySet<string>;
  readonly initialSort?: { readonly column: string; readonly isDescending?: boolean };
  /** Enter or a click on a row. */
  readonly onOpen?: (row: T) => void;
  /** At the end of each row: its actions. */
  readonly actions?: (row: T) => ReactNode;
  /** Grows with its rows up to this many pixels; default: the height of its place. */
  readonly maxHeight?: number;
}

const features = tableFeatures({ rowSortingFeature, columnVisibilityFeature, sortedRowModel: createSortedRowModel() });
const rowHeight = 41;
const everything: ReadonlySet<string> = new Set();

/**
 * A table that has only the rows on the screen in the page, so that ten thousand are as fast as ten. A click on a title sorts by it; the
 * arrow keys move between rows.
 */
export function DataTable<T extends object>(props: DataTableProps<T>): ReactElement {
  const { label, rows, columns, keyOf, hidden = everything, initialSort, onOpen, actions, maxHeight } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [sorting, setSorting] = useState<SortingState>(
    initialSort === undefined ? [] : [{ id: initialSort.column, desc: initialSort.isDescending ?? false }],
  );
  const definitions = useMemo(
    () =>
      columns.map((column): ColumnDef<typeof features, T> => ({
        id: column.id,
        header: column.title,
        accessorFn: column.value,
        sortFn: (a, b, id) => compareCells(a.getValue(id), b.getValue(id)),
        sortDescFirst: false,
      })),
    [columns],
  );
  const columnVisibility = useMemo(() => Object.fromEntries([...hidden].map((id) => [id, false])), [hidden]);
  const table = useTable<typeof features, T>({
    features,
    columns: definitions,
    data: rows,
    getRowId: keyOf,
    state: { sorting, columnVisibility },
    onSortingChange: setSorting,
  });
  const sorted = table.getRowModel().rows;
  const virtualizer = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => sorted[index]?.id ?? index,
    overscan: 12,
  });
  const items = virtualizer.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0);
  const visible = columns.filter(({ id }) => !hidden.has(id));
  const weights = visible.reduce((sum, { weight = 1 }) => sum + weight, 0);
  return (
    <div className="table-scroller" ref={scroller} style={maxHeight === undefined ? {} : { maxHeight }} tabIndex={-1}>
      <table className="table" aria-label={label} aria-rowcount={sorted.length + 1}>
        <colgroup>
          {visible.map(({ id, weight = 1 }) => (
            <col key={id} style={{ width: `${(weight / weights) * 100}%` }} />
          ))}
          {actions !== undefined && <col className="table-actions-column" />}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {visible.map((column) => (
              <HeaderCell
                key={column.id}
                column={column}
                sorting={sorting[0]}
                onSort={() => table.getColumn(column.id)?.toggleSorting()}
              />
            ))}
            {actions !== undefined && (
              <th scope="col">
                <span className="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <Spacer height={before} />}
          {items.map(({ index, key }) => {
            const row = sorted[index]?.original;
            if (row === undefined) return null;
            return <Row key={key} index={index} row={row} columns={visible} onOpen={onOpen} actions={actions} />;
          })}
          {after > 0 && <Spacer height={after} />}
        </tbody>
      </table>
    </div>
  );
}

function Row<T extends object>({
  index,
  row,
  columns,
  onOpen,
  actions,
}: {
  readonly index: number;
  readonly row: T;
  readonly columns: readonly DataColumn<T>[];
  readonly onOpen: ((row: T) => void) | undefined;
  readonly actions: ((row: T) => ReactNode) | undefined;
}): ReactElement {
  const onKey = (event: KeyboardEvent<HTMLTableRowElement>): void => {
    const { currentTarget: element, key } = event;
    if (event.target !== element) return;
    const sibling =
      key === 'ArrowDown' ? element.nextElementSibling : key === 'ArrowUp' ? element.previousElementSibling : null;
    if (sibling instanceof HTMLElement) {
      event.preventDefault();
      sibling.focus();
    } else if (key === 'Enter') onOpen?.(row);
  };
  return (
    <tr
      aria-rowindex={index + 2}
      className={onOpen === undefined ? undefined : 'table-row-open'}
      tabIndex={0}
      onKeyDown={onKey}
      onClick={(event) => {
        const isControl = (event.target as Element).closest('a,button,input,[role="menu"]') !== null;
        // Who selects a text to copy it does not want to open the row.
        if (!isControl && getSelection()?.isCollapsed !== false) onOpen?.(row);
      }}
    >
      {columns.map((column) => (
        <Cell key={column.id} column={column} row={row} />
      ))}
      {actions !== undefined && <td className="table-actions">{actions(row)}</td>}
    </tr>
  );
}

function HeaderCell<T>({
  column,
  sorting,
  onSort,
}: {
  readonly column: DataColumn<T>;
  readonly sorting: { readonly id: string; readonly desc: boolean } | undefined;
  readonly onSort: () => void;
}): ReactElement {
  const order = sorting?.id === column.id ? (sorting.desc ? 'descending' : 'ascending') : undefined;
  return (
    <th scope="col" aria-sort={order} className={column.isNumber === true ? 'table-number' : undefined}>
      <button type="button" title={column.description ?? column.title} onClick={onSort}>
        <span>{column.title}</span>
        {order !== undefined && <Icon name={order === 'ascending' ? 'chevronUp' : 'chevronDown'} size={12} />}
      </button>
    </th>
  );
}

function Cell<T>({ column, row }: { readonly column: DataColumn<T>; readonly row: T }): ReactElement {
  const text = cellText(column.value(row));
  return (
    <td
      className={column.isNumber === true ? 'table-number' : undefined}
      title={column.render === undefined ? text : undefined}
    >
      {column.render === undefined ? text : column.render(row)}
    </td>
  );
}

const Spacer = ({ height }: { readonly height: number }): ReactElement => (
  <tr className="table-spacer" aria-hidden="true">
    <td style={{ height }} />
  </tr>
);

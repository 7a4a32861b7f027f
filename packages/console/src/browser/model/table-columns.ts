import type { Column } from '../data/kube-object.ts';

/** How a column of a server's table is shown. */
export interface TableColumn {
  /** Its position in the cells of a row. */
  readonly index: number;
  readonly id: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly kind: 'name' | 'age' | 'state' | 'number' | 'text';
  /** `kubectl get` shows it with `-o wide` only. */
  readonly isWide: boolean;
  readonly weight: number;
}

const stateTitles = new Set([
  'phase',
  'status',
  'ready',
  'valid',
  'established',
  'available',
  'healthy',
  'synced',
  'accepted',
]);

/** Columns in the order of the server. */
export const tableColumns = (columns: readonly Column[]): readonly TableColumn[] =>
  columns.map(({ name, type, description, priority = 0 }, index) => {
    const title = name.toLowerCase();
    const kind =
      title === 'name' && index === 0
        ? 'name'
        : title === 'age'
          ? 'age'
          : stateTitles.has(title)
            ? 'state'
            : type === 'integer' || type === 'number'
              ? 'number'
              : 'text';
    const weight = kind === 'name' ? 3 : kind === 'age' || kind === 'number' ? 0.8 : kind === 'state' ? 1 : 1.6;
    return { index, id: `${index}/${name}`, title: name, description, kind, isWide: priority > 0, weight };
  });

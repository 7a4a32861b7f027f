import { ageSince, type DeepReadonly, type Json, type KubeObject } from '@multiplane/apimachinery';
import type { TableColumn, TableConvertor } from '../table-convertor.ts';
import { textAt } from '../fields.ts';

interface ColumnOptions {
  readonly type?: string;
  readonly format?: string;
  /** 1: only with `-o wide`. */
  readonly priority?: number;
  readonly description?: string;
}

/** A column of a table; text, always shown, unless said otherwise. */
export function column(name: string, options: ColumnOptions = {}): TableColumn {
  return {
    name,
    type: options.type ?? 'string',
    format: options.format ?? '',
    description: options.description ?? '',
    priority: options.priority ?? 0,
  };
}

export const nameColumn = column('Name', { format: 'name', description: 'Name of the object, unique in its scope.' });
export const ageColumn = column('Age', { description: 'Time since the object was created.' });

/** The age cell of an object. */
export function ageOf(object: DeepReadonly<KubeObject>, now: Date): string {
  return ageSince(object.metadata.creationTimestamp, now);
}

/** A table whose first column is the name and whose last is the age. */
export function nameAgeTable(
  columns: readonly TableColumn[],
  cells: (object: DeepReadonly<KubeObject>, now: Date) => Json[],
): TableConvertor {
  return {
    columns: [nameColumn, ...columns, ageColumn],
    cells: (object, now) => [object.metadata.name ?? '', ...cells(object, now), ageOf(object, now)],
  };
}

/** The table of built-in kinds without one of their own: `Name` and `Created At`. */
export const createdAtTable: TableConvertor = {
  columns: [nameColumn, column('Created At', { type: 'date', description: 'Time at which the object was created.' })],
  cells: (object) => [object.metadata.name ?? '', textAt(object, 'metadata', 'creationTimestamp') || null],
};

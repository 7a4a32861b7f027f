import {
  ageSince,
  humanDuration,
  labelSelectorFromObject,
  parseTime,
  type DeepReadonly,
  type Json,
  type KubeObject,
} from '@multiplane/apimachinery';
import { at, entriesAt, listAt, numberAt, objectAt, textAt } from '../fields.ts';
import { ageColumn, ageOf, column, nameColumn } from '../tables/columns.ts';
import type { TableColumn, TableConvertor } from '../table-convertor.ts';

/*
 * What the tables of Kubernetes' own kinds have in common. Objects come from definitions that anybody may write:
 * a value of an unexpected type reads as an absent one.
 */

export type NativeObject = DeepReadonly<KubeObject>;

/** A column and how an object fills it. */
export interface NativeColumn {
  readonly column: TableColumn;
  cell(object: NativeObject, now: Date): Json;
}

/** A table of the name and these columns. */
export function nativeTable(...columns: readonly NativeColumn[]): TableConvertor {
  return {
    columns: [nameColumn, ...columns.map((each) => each.column)],
    cells: (object, now) => [object.metadata.name ?? '', ...columns.map((each) => each.cell(object, now))],
  };
}

/** A text, always shown. */
export function textColumn(name: string, cell: NativeColumn['cell'], description = name): NativeColumn {
  return { column: column(name, { description }), cell };
}

/** A text that only `-o wide` shows. */
export function wideColumn(name: string, cell: NativeColumn['cell'], description = name): NativeColumn {
  return { column: column(name, { description, priority: 1 }), cell };
}

/** The number at a path, 0 where there is none. */
export function countColumn(name: string, ...path: readonly string[]): NativeColumn {
  return {
    column: column(name, { type: 'integer', description: name }),
    cell: (object) => numberAt(object, ...path) ?? 0,
  };
}

/** A boolean field; `otherwise` when it is absent. */
export function flagColumn(name: string, otherwise: boolean, ...path: readonly string[]): NativeColumn {
  return {
    column: column(name, { type: 'boolean', description: name }),
    cell: (object) => {
      const value = at(object, ...path);
      return typeof value === 'boolean' ? value : otherwise;
    },
  };
}

export const age: NativeColumn = { column: ageColumn, cell: ageOf };

/** The text at a path, or something else where there is none. */
export const textOr =
  (otherwise: string, ...path: readonly string[]) =>
  (object: NativeObject): string =>
    textAt(object, ...path) || otherwise;

export const none = '<none>';
export const unset = '<unset>';

/** Time since a timestamp. */
export const sinceText = (timestamp: string, now: Date): string =>
  ageSince(timestamp === '' ? undefined : timestamp, now);

/** Time between two timestamps; undefined unless both are there. */
export function durationBetween(start: string, end: string): string | undefined {
  const [from, to] = [parseTime(start), parseTime(end)];
  return from === undefined || to === undefined ? undefined : humanDuration(to.getTime() - from.getTime());
}

/** A selector of metav1.LabelSelector as text. */
export function selectorText(selector: Json | undefined): string {
  if (selector === undefined || selector === null) return none;
  try {
    return labelSelectorFromObject(selector).toString() || none;
  } catch {
    return '<error>';
  }
}

/** A map of labels as text. */
export const labelsText = (source: NativeObject, ...path: readonly string[]): string =>
  entriesAt(source, ...path)
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : ''}`)
    .join(',') || none;

const containersAt = ['spec', 'template', 'spec', 'containers'] as const;

/** Names and images of a template's containers, and what selects its pods: at the end of every workload's table. */
export function templateColumns(...path: readonly string[]): readonly NativeColumn[] {
  const containers = path.length === 0 ? containersAt : path;
  return [
    wideColumn('Containers', (object) => listed(listAt(object, ...containers), 'name')),
    wideColumn('Images', (object) => listed(listAt(object, ...containers), 'image')),
  ];
}

const listed = (items: readonly Json[], field: string): string => items.map((item) => textAt(item, field)).join(',');

export const selectorColumn: NativeColumn = wideColumn('Selector', (object) =>
  selectorText(objectAt(object, 'spec', 'selector')),
);

/** At most `max` texts, and how many more there are. */
export function cut(texts: readonly string[], max: number): string {
  const shown = texts.slice(0, max).join(',');
  return texts.length > max ? `${shown} + ${texts.length - max} more...` : shown;
}

const accessModes: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

/** `RWO,ROX`, in the order of the names. */
export const accessModesText = (modes: readonly string[]): string =>
  Object.keys(accessModes)
    .filter((mode) => modes.includes(mode))
    .map((mode) => accessModes[mode] as string)
    .join(',');

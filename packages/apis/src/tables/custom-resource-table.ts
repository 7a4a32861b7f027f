import {
  asJson,
  humanDuration,
  JsonPath,
  jsonPathText,
  parseTime,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type JsonPathBudget,
  type KubeObject,
} from '@multiplane/apimachinery';
import { readJsonPaths, type ReadablePath } from '../apiextensions/read-json-paths.ts';
import { textAt } from '../fields.ts';
import type { TableColumn, TableConvertor } from '../table-convertor.ts';
import { column, nameColumn } from './columns.ts';

interface PrinterColumn {
  readonly column: TableColumn;
  readonly path: JsonPath;
}

const defaultAge: PrinterColumn = {
  column: column('Age', { type: 'date', description: 'Time at which the object was created.' }),
  path: new JsonPath('.metadata.creationTimestamp'),
};

/** What all columns of one row may cost: thousands of recursive paths, or texts of whole objects, take longer than a turn may. */
const visitsOfRow = 500_000;
const charactersPerVisit = 8;

/** The table of a custom resource: its name and its readable printer columns, or the age when it has none. */
export function customResourceTable(printerColumns: readonly Json[]): TableConvertor {
  const columns =
    printerColumns.length === 0 ? [defaultAge] : readJsonPaths(printerColumns).readable.map(printerColumn);
  return {
    columns: [nameColumn, ...columns.map((entry) => entry.column)],
    cells: (object, now) => {
      const budget = { visits: visitsOfRow };
      return [
        object.metadata.name ?? '',
        ...columns.map((entry) => cell(entry, asJson(object as KubeObject), now, budget)),
      ];
    },
  };
}

function printerColumn({ source, path }: ReadablePath): PrinterColumn {
  const description = textAt(source, 'description');
  const priority = (source as JsonObject)['priority'];
  return {
    column: column(textAt(source, 'name'), {
      type: textAt(source, 'type'),
      format: textAt(source, 'format'),
      description:
        description === '' ? `Custom resource definition column (in JSONPath format): ${path.text}` : description,
      priority: typeof priority === 'number' ? priority : 0,
    }),
    path,
  };
}

/** One cell: what the path finds first, in the column's type; null where nothing of that type is found. */
function cell(
  { column: { type }, path }: PrinterColumn,
  object: DeepReadonly<JsonObject>,
  now: Date,
  budget: JsonPathBudget,
): Json {
  const value = path.first(object, budget);
  if (value === undefined) return null;
  if (type === 'string') {
    const text = jsonPathText(value);
    budget.visits -= Math.floor(text.length / charactersPerVisit);
    return text;
  }
  if (value === null) return null;
  switch (type) {
    case 'integer':
      return typeof value === 'bigint' || typeof value === 'number'
        ? typeof value === 'number'
          ? Math.trunc(value)
          : value
        : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? ageText(value, now) : null;
    default:
      return null;
  }
}

/** `<invalid>` for what is no time and for one that is yet to come, `<unknown>` for Go's zero time. */
function ageText(value: string, now: Date): string {
  const time = parseTime(value);
  if (time === undefined) return value === '' || value === 'null' ? '<unknown>' : '<invalid>';
  return time.getTime() === zeroTime ? '<unknown>' : humanDuration(now.getTime() - time.getTime());
}

const zeroTime = Date.parse('0001-01-01T00:00:00Z');

import type { ReactElement } from 'react';
import { cellText } from '../model/compare-cells.ts';

const maxItems = 100;
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value of JSON for people: names beside their values, what is inside indented and foldable. */
export function ValueTree({ value, depth = 0 }: { readonly value: unknown; readonly depth?: number }): ReactElement {
  if (Array.isArray(value)) {
    const entries = value.map((item: unknown, index) => [String(index + 1), item] as const);
    return <Entries entries={entries} depth={depth} />;
  }
  if (isObject(value)) return <Entries entries={Object.entries(value)} depth={depth} />;
  return <Leaf value={value} />;
}

function Entries({
  entries,
  depth,
}: {
  readonly entries: readonly (readonly [string, unknown])[];
  readonly depth: number;
}): ReactElement {
  if (entries.length === 0) return <span className="muted">empty</span>;
  return (
    <ul className="value-tree">
      {entries.slice(0, maxItems).map(([name, value]) =>
        typeof value === 'object' && value !== null && Object.keys(value).length > 0 ? (
          <li key={name}>
            <details open={depth < 2}>
              <summary className="value-head">
                <span className="value-name">{name}</span>
                <span className="value-count">{countText(value)}</span>
              </summary>
              <ValueTree value={value} depth={depth + 1} />
            </details>
          </li>
        ) : (
          <li key={name} className="value-row">
            <span className="value-name">{name}</span>
            <Leaf value={value} />
          </li>
        ),
      )}
      {entries.length > maxItems && (
        <li className="muted">and {entries.length - maxItems} more; the YAML has all of them</li>
      )}
    </ul>
  );
}

const countText = (value: object): string =>
  Array.isArray(value) ? (value.length === 1 ? '1 item' : `${value.length} items`) : '';

function Leaf({ value }: { readonly value: unknown }): ReactElement {
  if (value === null || value === undefined) return <span className="muted">not set</span>;
  if (typeof value === 'object') return <span className="muted">empty</span>;
  if (typeof value === 'string' && value.includes('\n'))
    return (
      <pre className="value-text" tabIndex={0}>
        {value}
      </pre>
    );
  return (
    <span className={typeof value === 'string' ? 'value-string' : 'value-other'}>
      {value === '' ? '""' : cellText(value)}
    </span>
  );
}

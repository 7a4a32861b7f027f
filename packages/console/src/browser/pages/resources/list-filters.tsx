import { useEffect, useMemo, useState, type ReactElement } from 'react';
import { Icon } from '../../components/icon.tsx';
import { collectionPath } from '../../data/api-paths.ts';
import { objectCodec } from '../../data/codec.ts';
import { useLiveList } from '../../hooks/use-live-list.ts';

export interface ListFilter {
  /** Empty: all. */
  readonly namespace: string;
  readonly labels: string;
  readonly fields: string;
}

/** By name here in the browser; by namespace, labels and fields at the server. */
export function ListFilters({
  cluster,
  isNamespaced,
  filter,
  text,
  onFilter,
  onText,
}: {
  readonly cluster: string;
  readonly isNamespaced: boolean;
  readonly filter: ListFilter;
  readonly text: string;
  readonly onFilter: (filter: ListFilter) => void;
  readonly onText: (text: string) => void;
}): ReactElement {
  return (
    <>
      <div className="search-input">
        <Icon name="search" />
        <input
          className="input"
          type="search"
          aria-label="Filter by name"
          placeholder="Name"
          value={text}
          onChange={(event) => onText(event.target.value)}
        />
      </div>
      {isNamespaced && (
        <NamespaceSelect
          cluster={cluster}
          value={filter.namespace}
          onChange={(namespace) => onFilter({ ...filter, namespace })}
        />
      )}
      <SelectorInput
        label="Label selector"
        placeholder="Labels: app=web,tier!=test"
        value={filter.labels}
        onChange={(labels) => onFilter({ ...filter, labels })}
      />
      <SelectorInput
        label="Field selector"
        placeholder="Fields: metadata.name=web"
        value={filter.fields}
        onChange={(fields) => onFilter({ ...filter, fields })}
      />
    </>
  );
}

function NamespaceSelect({
  cluster,
  value,
  onChange,
}: {
  readonly cluster: string;
  readonly value: string;
  readonly onChange: (namespace: string) => void;
}): ReactElement {
  const options = useMemo(
    () => ({ path: collectionPath({ cluster, group: '', version: 'v1', resource: 'namespaces' }), codec: objectCodec }),
    [cluster],
  );
  const names = useLiveList(options).items.map(({ metadata }) => metadata.name);
  return (
    <select
      className="input filter-select"
      aria-label="Namespace"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">All namespaces</option>
      {[...new Set([...names, ...(value === '' ? [] : [value])])].sort().map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

/** Asks the server when the text is complete: at Enter, or when one leaves the field. */
function SelectorInput({
  label,
  placeholder,
  value,
  onChange,
}: {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactElement {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const commit = (): void => {
    if (typed.trim() !== value) onChange(typed.trim());
  };
  return (
    <input
      className="input filter-selector"
      type="search"
      aria-label={label}
      placeholder={placeholder}
      spellCheck={false}
      value={typed}
      onChange={(event) => {
        setTyped(event.target.value);
        // The cross of the field empties it.
        if (event.target.value === '' && value !== '') onChange('');
      }}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === 'Enter') commit();
      }}
    />
  );
}

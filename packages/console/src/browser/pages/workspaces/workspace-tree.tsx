import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactElement } from 'react';
import { useNavigate } from 'react-router';
import { Icon } from '../../components/icon.tsx';
import { useChildWorkspacesOf } from '../../hooks/use-child-workspaces.ts';
import { pathsTo, treeRows, type TreeRow } from '../../model/workspace-tree.ts';
import { phaseOf } from '../../model/workspace.ts';
import { phaseTone } from '../../model/tone.ts';
import { workspaceUrl } from '../page-definition.ts';

const rowHeight = 34;

/** The workspaces from the top of the path down; what is below one is loaded when it is opened, and stays current. */
export function WorkspaceTree({ cluster }: { readonly cluster: string }): ReactElement {
  const navigate = useNavigate();
  const [filter, setFilter] = useState('');
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [focused, setFocused] = useState(cluster);
  const expanded = useMemo(
    () => new Set([...pathsTo(cluster), ...opened].filter((path) => !closed.has(path))),
    [cluster, opened, closed],
  );
  const children = useChildWorkspacesOf(useMemo(() => [...expanded], [expanded]));
  const rows = useMemo(
    () => treeRows({ current: cluster, expanded, children, filter }),
    [cluster, expanded, children, filter],
  );

  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  });
  useEffect(() => setFocused(cluster), [cluster]);

  const toggle = (path: string, isOpen: boolean): void => {
    setOpened((all) => new Set(isOpen ? [...all, path] : [...all].filter((other) => other !== path)));
    setClosed((all) => new Set(isOpen ? [...all].filter((other) => other !== path) : [...all, path]));
  };
  const focus = (index: number): void => {
    const row = rows[index];
    if (row?.kind !== 'workspace') return;
    setFocused(row.path);
    virtualizer.scrollToIndex(index);
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(row.path)}"]`)?.focus(),
    );
  };
  const step = (from: number, by: 1 | -1): void => {
    let index = from + by;
    while (rows[index]?.kind === 'message') index += by;
    focus(index);
  };
  const onKey = (event: KeyboardEvent, row: TreeRow & { kind: 'workspace' }, index: number): void => {
    const { key } = event;
    if (key === 'ArrowDown') step(index, 1);
    else if (key === 'ArrowUp') step(index, -1);
    else if (key === 'Home') focus(0);
    else if (key === 'End') step(rows.length, -1);
    else if (key === 'ArrowRight' && row.mayExpand && !row.isExpanded) toggle(row.path, true);
    else if (key === 'ArrowRight') step(index, 1);
    else if (key === 'ArrowLeft' && row.isExpanded && row.mayExpand) toggle(row.path, false);
    else if (key === 'ArrowLeft') focus(rows.findLastIndex((other, at) => at < index && other.depth < row.depth));
    else if (key === 'Enter' || key === ' ') void navigate(workspaceUrl(row.path));
    else return;
    event.preventDefault();
  };
  const hasFocused = rows.some((row) => row.path === focused);
  return (
    <section className="tree" aria-label="Tree of workspaces">
      <div className="tree-filter search-input">
        <Icon name="filter" />
        <input
          className="input"
          type="search"
          aria-label="Filter the workspaces that are shown"
          placeholder="Filter"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      </div>
      <div className="tree-scroller" ref={scroller}>
        <div role="tree" aria-label="Workspaces" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const place = { transform: `translateY(${start}px)`, paddingLeft: 8 + row.depth * 18 };
            if (row.kind === 'message')
              return (
                <div key={`${row.path}/`} className="tree-message" role="none" title={row.text} style={place}>
                  {row.text}
                </div>
              );
            return (
              <TreeNode
                key={row.path}
                row={row}
                place={place}
                isSelected={row.path === cluster}
                isReachable={hasFocused ? row.path === focused : index === 0}
                onToggle={() => toggle(row.path, !row.isExpanded)}
                onOpen={() => void navigate(workspaceUrl(row.path))}
                onKey={(event) => onKey(event, row, index)}
              />
            );
          })}
        </div>
      </div>
    </section>
  );
}

function TreeNode({
  row,
  place,
  isSelected,
  isReachable,
  onToggle,
  onOpen,
  onKey,
}: {
  readonly row: TreeRow & { kind: 'workspace' };
  readonly place: { readonly transform: string; readonly paddingLeft: number };
  readonly isSelected: boolean;
  readonly isReachable: boolean;
  readonly onToggle: () => void;
  readonly onOpen: () => void;
  readonly onKey: (event: KeyboardEvent) => void;
}): ReactElement {
  const phase = row.workspace === undefined ? 'Ready' : phaseOf(row.workspace);
  return (
    <div
      role="treeitem"
      aria-level={row.depth + 1}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-expanded={row.mayExpand ? row.isExpanded : undefined}
      aria-selected={isSelected}
      data-path={row.path}
      className={isSelected ? 'tree-node tree-node-selected' : 'tree-node'}
      tabIndex={isReachable ? 0 : -1}
      style={place}
      onClick={onOpen}
      onKeyDown={onKey}
    >
      {/* The keyboard opens it by the arrow keys of the tree. */}
      <span
        className="tree-toggle"
        aria-hidden="true"
        onClick={(event) => {
          event.stopPropagation();
          onToggle();
        }}
      >
        {row.mayExpand && <Icon name={row.isExpanded ? 'chevronDown' : 'chevronRight'} size={14} />}
      </span>
      <span className="tree-name">{row.name}</span>
      {phase !== 'Ready' && <span className={`tree-phase tree-phase-${phaseTone(phase)}`}>{phase}</span>}
    </div>
  );
}

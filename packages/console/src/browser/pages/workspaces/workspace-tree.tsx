import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactElement } from 'react';
import { useNavigate } from 'react-router';
import { Icon } from '../../components/icon.tsx';
import { useChildWorkspacesOf } from '../../hooks/use-child-workspaces.ts';
import { parentOf, pathOf, pathsTo, treeRows, type TreeRow } from '../../model/workspace-tree.ts';
import { phaseOf } from '../../model/workspace.ts';
import { phaseTone } from '../../model/tone.ts';
import { workspaceUrl } from '../page-definition.ts';

const rowHeight = 34;

/** The lines of the tree, and what opens and closes them; the way to the workspace that is shown is open by itself. */
function useTreeRows(
  cluster: string,
  filter: string,
): { readonly rows: readonly TreeRow[]; readonly toggle: (path: string, isOpen: boolean) => void } {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const expanded = useMemo(
    () => new Set([...pathsTo(cluster), ...opened].filter((path) => !closed.has(path))),
    [cluster, opened, closed],
  );
  const children = useChildWorkspacesOf(useMemo(() => [...expanded], [expanded]));
  const rows = useMemo(
    () => treeRows({ current: cluster, expanded, children, filter }),
    [cluster, expanded, children, filter],
  );
  const toggle = (path: string, isOpen: boolean): void => {
    setOpened((all) => new Set(isOpen ? [...all, path] : [...all].filter((other) => other !== path)));
    setClosed((all) => new Set(isOpen ? [...all].filter((other) => other !== path) : [...all, path]));
  };
  return { rows, toggle };
}

/** The workspaces from the top of the path down; what is below one is loaded when it is opened, and stays current. */
export function WorkspaceTree({ cluster }: { readonly cluster: string }): ReactElement {
  const navigate = useNavigate();
  const [filter, setFilter] = useState('');
  const [focused, setFocused] = useState(cluster);
  const { rows, toggle } = useTreeRows(cluster, filter);
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  });
  useEffect(() => setFocused(cluster), [cluster]);

  const focus = (index: number): void => {
    const row = rows[index];
    if (row?.kind !== 'workspace') return;
    const path = pathOf(row);
    setFocused(path);
    virtualizer.scrollToIndex(index);
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`)?.focus(),
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
    else if (key === 'ArrowRight' && row.mayExpand && !row.isExpanded) toggle(pathOf(row), true);
    else if (key === 'ArrowRight') step(index, 1);
    else if (key === 'ArrowLeft' && row.isExpanded && row.mayExpand) toggle(pathOf(row), false);
    else if (key === 'ArrowLeft') focus(rows.findLastIndex((other, at) => at < index && other.depth < row.depth));
    else if (key === 'Enter' || key === ' ') void navigate(workspaceUrl(pathOf(row)));
    else return;
    event.preventDefault();
  };
  const focusedParent = parentOf(focused);
  const hasFocused = rows.some(
    (row) => row.kind === 'workspace' && row.parent === focusedParent && pathOf(row) === focused,
  );
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
                <div key={`${row.parent}/`} className="tree-message" role="none" title={row.text} style={place}>
                  {row.text}
                </div>
              );
            const path = pathOf(row);
            return (
              <TreeNode
                key={path}
                path={path}
                row={row}
                place={place}
                isSelected={path === cluster}
                isReachable={hasFocused ? path === focused : index === 0}
                onToggle={() => toggle(path, !row.isExpanded)}
                onOpen={() => void navigate(workspaceUrl(path))}
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
  path,
  place,
  isSelected,
  isReachable,
  onToggle,
  onOpen,
  onKey,
}: {
  readonly row: TreeRow & { kind: 'workspace' };
  readonly path: string;
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
      data-path={path}
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

import { useMemo, useState, type ReactElement } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { YamlDiff } from '../../components/yaml-diff.tsx';
import type { Conflict } from './use-object-edit.ts';

/** Joins a change with what somebody else stored meanwhile. */
export function ConflictDialog({
  conflict: { theirs, merged },
  onClose,
  onResolved,
}: {
  readonly conflict: Conflict;
  readonly onClose: () => void;
  readonly onResolved: (text: string) => void;
}): ReactElement {
  const [text, setText] = useState(merged.text);
  const before = useMemo(() => ({ title: 'Theirs, stored now', text: theirs }), [theirs]);
  const after = useMemo(() => ({ title: 'Yours, merged; you can change it', text: merged.text }), [merged]);
  const count = merged.conflicts.length;
  const lines = merged.conflicts.map(({ line }) => line).join(', ');
  return (
    <Dialog
      title="Somebody else changed the object"
      size="full"
      description="Changes of both sides in different places are joined already."
      onClose={onClose}
      actions={
        <>
          <Button variant="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button variant="primary" onClick={() => onResolved(text)}>
            Review the result
          </Button>
        </>
      }
    >
      {count === 0 ? (
        <Notice tone="good" title="Your changes and theirs fit together" />
      ) : (
        <Notice
          tone="warn"
          title={count === 1 ? 'Both changed the same place' : `Both changed the same ${count} places`}
        >
          The right side has your version there, in line {lines}. The arrows between the sides take theirs.
        </Notice>
      )}
      <YamlDiff before={before} after={after} onChange={setText} />
    </Dialog>
  );
}

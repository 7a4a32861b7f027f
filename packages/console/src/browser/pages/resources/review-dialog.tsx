import { useMemo, type ReactElement } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { YamlDiff } from '../../components/yaml-diff.tsx';
import type { Review } from './use-object-edit.ts';

/** What saving would change, as the server sees it. */
export function ReviewDialog({
  review,
  isBusy,
  onClose,
  onSave,
}: {
  readonly review: Review;
  readonly isBusy: boolean;
  readonly onClose: () => void;
  readonly onSave: () => void;
}): ReactElement {
  const isSame = review.before === review.after;
  const before = useMemo(() => ({ title: 'Now', text: review.before }), [review]);
  const after = useMemo(() => ({ title: 'After saving', text: review.after }), [review]);
  return (
    <Dialog
      title="Review the changes"
      size="full"
      description="The server has checked them, with defaults, admission and validation, without storing anything."
      onClose={onClose}
      actions={
        <>
          <Button variant="ghost" onClick={onClose}>
            Back to the text
          </Button>
          <Button variant="primary" isBusy={isBusy} disabled={isSame} onClick={onSave}>
            Save
          </Button>
        </>
      }
    >
      {isSame ? (
        <Notice tone="info" title="Nothing would change">
          The server would store the same object again.
        </Notice>
      ) : (
        <YamlDiff before={before} after={after} />
      )}
    </Dialog>
  );
}

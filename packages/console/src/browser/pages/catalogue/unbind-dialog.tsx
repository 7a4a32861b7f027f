import { useState, type ReactElement } from 'react';
import { Button } from '../../components/button.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { objectPath } from '../../data/api-paths.ts';
import { useApp } from '../../hooks/app-context.ts';
import { bindingsAt } from '../../hooks/use-bindings.ts';
import type { ApiBinding } from '../../model/api-export.ts';

/** Deletes a binding, and says what goes with it. */
export function UnbindDialog({
  cluster,
  binding,
  onClose,
}: {
  readonly cluster: string;
  readonly binding: ApiBinding;
  readonly onClose: () => void;
}): ReactElement {
  const { api } = useApp();
  const [error, setError] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const { name } = binding.metadata;
  const bound = binding.status?.boundResources ?? [];
  const remove = async (): Promise<void> => {
    setIsBusy(true);
    try {
      await api.send(objectPath(bindingsAt(cluster), name), { method: 'DELETE' });
      onClose();
    } catch (failure) {
      setError((failure as Error).message);
      setIsBusy(false);
    }
  };
  return (
    <Dialog
      title={`Unbind ${name}?`}
      onClose={onClose}
      onSubmit={() => void remove()}
      actions={
        <>
          <Button variant="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" variant="danger" isBusy={isBusy}>
            Unbind
          </Button>
        </>
      }
    >
      <Notice tone="warn" title="The objects of this API are deleted with the binding">
        All {bound.map(({ resource }) => resource).join(', ')} in this workspace go, and the API is not served here any
        more. Other workspaces keep theirs.
      </Notice>
      {error !== undefined && (
        <Notice tone="bad" title="The API is still bound">
          {error}
        </Notice>
      )}
      <CommandBox command={`kubectl ws :${cluster}\nkubectl delete apibinding ${name}`} />
    </Dialog>
  );
}

import { useState, type ReactElement } from 'react';
import { Button } from '../../components/button.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Notice } from '../../components/notice.tsx';
import { objectPath } from '../../data/api-paths.ts';
import { useApp } from '../../hooks/app-context.ts';
import { useChildWorkspaces, workspacesAt } from '../../hooks/use-child-workspaces.ts';

/** Deletes a workspace with everything in it, once its name has been typed. */
export function DeleteWorkspaceDialog({
  parent,
  name,
  onClose,
}: {
  readonly parent: string;
  readonly name: string;
  readonly onClose: () => void;
}): ReactElement {
  const { api } = useApp();
  const { items, isSynced } = useChildWorkspaces(`${parent}:${name}`);
  const [typed, setTyped] = useState('');
  const [error, setError] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const remove = async (): Promise<void> => {
    setIsBusy(true);
    try {
      await api.send(objectPath(workspacesAt(parent), name), { method: 'DELETE' });
      onClose();
    } catch (failure) {
      setError((failure as Error).message);
      setIsBusy(false);
    }
  };
  return (
    <Dialog
      title={`Delete ${name}?`}
      onClose={onClose}
      onSubmit={() => void remove()}
      actions={
        <>
          <Button variant="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" variant="danger" isBusy={isBusy} disabled={typed !== name}>
            Delete the workspace
          </Button>
        </>
      }
    >
      <Notice tone="warn" title="Everything in it is deleted, and cannot be brought back">
        All objects, bindings and permissions go
        {isSynced &&
          items.length > 0 &&
          `, and the ${items.length} workspaces directly below it with all that is in them`}
        . The page of the workspace shows what the deletion waits for.
      </Notice>
      <Field label={`Type ${name} to confirm`}>
        {(control) => (
          <input
            {...control}
            className="input input-mono"
            autoComplete="off"
            spellCheck={false}
            autoFocus
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        )}
      </Field>
      {error !== undefined && (
        <Notice tone="bad" title="The workspace is not deleted">
          {error}
        </Notice>
      )}
      <CommandBox command={`kubectl ws :${parent}\nkubectl delete workspace ${name}`} />
    </Dialog>
  );
}

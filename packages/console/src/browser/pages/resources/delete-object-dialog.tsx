import { useState, type ReactElement } from 'react';
import { Button } from '../../components/button.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { useToast } from '../../components/toast.tsx';
import { objectPath } from '../../data/api-paths.ts';
import type { KubeObject } from '../../data/kube-object.ts';
import { useApp } from '../../hooks/app-context.ts';
import type { ApiResource } from '../../model/discovery.ts';

const policies = [
  {
    policy: 'Background',
    flag: 'background',
    title: 'Delete it, and its dependents afterwards',
    text: 'The object goes at once. What it owns is deleted in the background. This is the default.',
  },
  {
    policy: 'Foreground',
    flag: 'foreground',
    title: 'Delete its dependents first',
    text: 'The object stays, marked as being deleted, until everything that it owns and that blocks its deletion is gone.',
  },
  {
    policy: 'Orphan',
    flag: 'orphan',
    title: 'Keep its dependents',
    text: 'Only the object goes. What it owned stays, without an owner.',
  },
] as const;

/** Deletes an object; says what happens to what it owns. */
export function DeleteObjectDialog({
  cluster,
  resource,
  object,
  kubectlName,
  onClose,
  onDeleted,
}: {
  readonly cluster: string;
  readonly resource: ApiResource;
  readonly object: KubeObject;
  readonly kubectlName: string;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}): ReactElement {
  const { api } = useApp();
  const toast = useToast();
  const [selected, setSelected] = useState<(typeof policies)[number]>(policies[0]);
  const [error, setError] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const { name, namespace, uid, finalizers = [] } = object.metadata;
  const remove = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      await api.send(objectPath({ cluster, ...resource, namespace }, name), {
        method: 'DELETE',
        // Another object of this name is not the one that is shown.
        body: JSON.stringify({
          propagationPolicy: selected.policy,
          ...(uid === undefined ? {} : { preconditions: { uid } }),
        }),
      });
      onClose();
      if (finalizers.length > 0 || selected.policy === 'Foreground')
        toast({ tone: 'info', title: `${name} is being deleted`, text: 'Its page shows what it waits for.' });
      else {
        toast({ tone: 'good', title: `${name} is deleted` });
        onDeleted();
      }
    } catch (failure) {
      setError((failure as Error).message);
      setIsBusy(false);
    }
  };
  const scope = namespace === undefined ? '' : ` --namespace ${namespace}`;
  return (
    <Dialog
      title={`Delete ${resource.kind} ${name}?`}
      onClose={onClose}
      onSubmit={() => void remove()}
      actions={
        <>
          <Button variant="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" variant="danger" isBusy={isBusy}>
            Delete
          </Button>
        </>
      }
    >
      <fieldset className="choices">
        <legend>What about the objects that it owns?</legend>
        {policies.map((policy) => (
          <label key={policy.policy} className={selected === policy ? 'choice choice-selected' : 'choice'}>
            <input type="radio" name="policy" checked={selected === policy} onChange={() => setSelected(policy)} />
            <span>
              <strong>{policy.title}</strong>
              <span>{policy.text}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {finalizers.length > 0 && (
        <Notice tone="info" title="It has finalizers">
          It goes once their controllers have cleaned up and removed them: {finalizers.join(', ')}.
        </Notice>
      )}
      {error !== undefined && (
        <Notice tone="bad" title="The object is not deleted">
          {error}
        </Notice>
      )}
      <CommandBox
        command={`kubectl ws :${cluster}\nkubectl delete ${kubectlName} ${name}${scope} --cascade=${selected.flag}`}
      />
    </Dialog>
  );
}

import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { useNavigate } from 'react-router';
import { Button } from '../../components/button.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { Notice } from '../../components/notice.tsx';
import { clusterPath, collectionPath } from '../../data/api-paths.ts';
import type { KubeObject } from '../../data/kube-object.ts';
import { useApp } from '../../hooks/app-context.ts';
import { workspacesAt } from '../../hooks/use-child-workspaces.ts';
import { pathsTo } from '../../model/workspace-tree.ts';
import { workspaceUrl } from '../page-definition.ts';

const namePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** Creates a workspace below one, and goes there: its page shows how far it is. */
export function CreateWorkspaceDialog({
  cluster,
  onClose,
}: {
  readonly cluster: string;
  readonly onClose: () => void;
}): ReactElement {
  const { api } = useApp();
  const navigate = useNavigate();
  const types = useWorkspaceTypes(cluster);
  const [name, setName] = useState('');
  const [type, setType] = useState('');
  const [error, setError] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const problem =
    name === '' || namePattern.test(name)
      ? undefined
      : 'Lower case letters, digits and hyphens; no hyphen at the ends.';

  const create = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    const colon = type.lastIndexOf(':');
    const spec = type === '' ? {} : { type: { path: type.slice(0, colon), name: type.slice(colon + 1) } };
    const workspace = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name }, spec };
    try {
      await api.send(collectionPath(workspacesAt(cluster)), { method: 'POST', body: JSON.stringify(workspace) });
      onClose();
      void navigate(workspaceUrl(`${cluster}:${name}`));
    } catch (failure) {
      setError((failure as Error).message);
      setIsBusy(false);
    }
  };
  const flags = type === '' ? '' : ` --type ${type}`;
  return (
    <Dialog
      title="Create a workspace"
      description={
        <>
          Below <code>{cluster}</code>. It gets an API endpoint, objects, APIs and permissions of its own.
        </>
      }
      onClose={onClose}
      onSubmit={() => void create()}
      actions={
        <>
          <Button variant="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" isBusy={isBusy} disabled={name === '' || problem !== undefined}>
            Create
          </Button>
        </>
      }
    >
      <Field label="Name" error={problem} hint="Part of its path, and of the URL of its API. It cannot be changed.">
        {(control) => (
          <input
            {...control}
            className="input input-mono"
            name="name"
            autoComplete="off"
            spellCheck={false}
            autoFocus
            maxLength={63}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="Type" hint="A type decides which APIs a workspace starts with, and what may be below it.">
        {(control) => (
          <select {...control} className="input" value={type} onChange={(event) => setType(event.target.value)}>
            <option value="">Default of {cluster}</option>
            {types.map((path) => (
              <option key={path} value={path}>
                {path}
              </option>
            ))}
          </select>
        )}
      </Field>
      {error !== undefined && (
        <Notice tone="bad" title="The workspace is not created">
          {error}
        </Notice>
      )}
      <CommandBox
        command={`kubectl ws :${cluster}\nkubectl create workspace ${name === '' ? '<name>' : name}${flags} --enter`}
      />
    </Dialog>
  );
}

/** The types in this workspace and in those above it, as far as the user may see them. */
function useWorkspaceTypes(cluster: string): readonly string[] {
  const { api } = useApp();
  const { data } = useQuery({
    queryKey: ['workspacetypes', cluster],
    queryFn: async ({ signal }) => {
      const lists = await Promise.allSettled(
        [...new Set(['root', ...pathsTo(cluster)])].map(async (path) => {
          const { items } = await api.json<{ readonly items: readonly KubeObject[] }>(
            `${clusterPath(path)}/apis/tenancy.kcp.io/v1alpha1/workspacetypes`,
            { signal },
          );
          return items.map(({ metadata }) => `${path}:${metadata.name}`);
        }),
      );
      // Of the root itself there is one, and nobody makes another.
      return lists
        .flatMap((list) => (list.status === 'fulfilled' ? list.value : []))
        .filter((path) => path !== 'root:root');
    },
  });
  return data ?? [];
}

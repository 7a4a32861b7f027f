import { useMemo, useState, type ReactElement } from 'react';
import { Link } from 'react-router';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { DataTable, type DataColumn } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { Icon } from '../../components/icon.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { useToast } from '../../components/toast.tsx';
import { objectPath } from '../../data/api-paths.ts';
import { useApp } from '../../hooks/app-context.ts';
import { builtInRoles, ruleText, subjectText, withoutSubject, type Grant } from '../../model/access-grants.ts';
import { objectUrl } from '../page-definition.ts';
import { useGrants } from './use-roles.ts';

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };
const kindTitles: Readonly<Record<string, string>> = { ServiceAccount: 'Service account' };

const columns: readonly DataColumn<Grant>[] = [
  {
    id: 'subject',
    title: 'Who',
    weight: 2.2,
    value: ({ subject }) => subjectText(subject),
    render: ({ subject }) => <span className="cell-name">{subjectText(subject)}</span>,
  },
  {
    id: 'kind',
    title: 'Kind',
    weight: 1.2,
    value: ({ subject }) => kindTitles[subject.kind] ?? subject.kind,
  },
  { id: 'role', title: 'Role', weight: 1.8, value: ({ role }) => role },
  {
    id: 'where',
    title: 'Where',
    weight: 1.4,
    value: ({ namespace }) => namespace ?? '',
    render: ({ namespace }) =>
      namespace === undefined ? <Badge tone="info">Workspace</Badge> : <Badge>{namespace}</Badge>,
  },
  { id: 'summary', title: 'May', weight: 4, value: ({ summary }) => summary },
];

/** Every subject with its roles. */
export function GrantsTab({
  cluster,
  onGrant,
}: {
  readonly cluster: string;
  readonly onGrant: () => void;
}): ReactElement {
  const { grants, isSynced, failure } = useGrants(cluster);
  const [filter, setFilter] = useState('');
  const [opened, setOpened] = useState<Grant>();
  const shown = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return grants;
    return grants.filter(({ subject, role, namespace, summary }) => {
      const text = `${subjectText(subject)} ${subject.kind} ${role} ${namespace ?? ''} ${summary}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }, [grants, filter]);
  if (failure !== undefined && !isSynced)
    return (
      <Notice tone="bad" title="The roles of this workspace cannot be listed">
        {failure.message}. Who may see them is a role itself; the second tab tells why you may not.
      </Notice>
    );
  if (!isSynced) return <Loading />;
  if (grants.length === 0)
    return (
      <EmptyState
        icon="access"
        title="Nobody has a role here yet"
        action={
          <Button variant="primary" icon="plus" onClick={onGrant}>
            Grant a role
          </Button>
        }
      >
        <p>
          A role lists what may be done; a binding gives it to users, groups and service accounts. Administrators of the
          control plane may do everything without one.
        </p>
      </EmptyState>
    );
  return (
    <div className="stack">
      <div className="toolbar">
        <div className="search-input">
          <Icon name="filter" />
          <input
            className="input"
            type="search"
            aria-label="Filter by user, role or right"
            placeholder="Filter by user, role or right"
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
        </div>
        <span className="toolbar-end muted">
          {shown.length === grants.length ? `${grants.length} grants` : `${shown.length} of ${grants.length} grants`}
        </span>
      </div>
      <div className="table-frame access-table">
        <DataTable
          label="Grants"
          rows={shown}
          columns={columns}
          keyOf={({ key }) => key}
          initialSort={{ column: 'subject' }}
          maxHeight={620}
          onOpen={setOpened}
        />
      </div>
      {opened !== undefined && <GrantDialog cluster={cluster} grant={opened} onClose={() => setOpened(undefined)} />}
    </div>
  );
}

function GrantDialog({
  cluster,
  grant,
  onClose,
}: {
  readonly cluster: string;
  readonly grant: Grant;
  readonly onClose: () => void;
}): ReactElement {
  const { api } = useApp();
  const toast = useToast();
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<string>();
  const { subject, role, roleKind, namespace, rules, binding } = grant;
  const bindingResource = {
    ...rbac,
    resource: namespace === undefined ? 'clusterrolebindings' : 'rolebindings',
  };
  const roleResource = { ...rbac, resource: roleKind === 'Role' ? 'roles' : 'clusterroles' };
  const path = objectPath({ cluster, ...bindingResource, namespace }, binding.metadata.name);
  const rest = withoutSubject(grant);
  const revoke = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      // The precondition keeps a subject that somebody added meanwhile.
      const { resourceVersion } = binding.metadata;
      if (rest === undefined)
        await api.send(path, { method: 'DELETE', body: JSON.stringify({ preconditions: { resourceVersion } }) });
      else await api.send(path, { method: 'PUT', body: JSON.stringify(rest) });
      toast({ tone: 'good', title: `${subjectText(subject)} has lost the role ${role}` });
      onClose();
    } catch (failure) {
      setError((failure as Error).message);
      setIsBusy(false);
    }
  };
  const where = namespace === undefined ? 'in the whole workspace' : `in the namespace ${namespace}`;
  return (
    <Dialog
      title={subjectText(subject)}
      description={`${kindTitles[subject.kind] ?? subject.kind} with the role ${role} ${where}.`}
      size="large"
      onClose={onClose}
      actions={
        <>
          <Button variant="danger" icon="trash" isBusy={isBusy} onClick={() => void revoke()}>
            Revoke
          </Button>
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      <Facts
        of={[
          [
            'Role',
            rules === undefined ? (
              role
            ) : (
              <Link to={objectUrl(cluster, roleResource, role, roleKind === 'Role' ? namespace : undefined)}>
                {role}
              </Link>
            ),
          ],
          [
            'Binding',
            <Link to={objectUrl(cluster, bindingResource, binding.metadata.name, namespace)}>
              {binding.metadata.name}
            </Link>,
          ],
          ['Others in this binding', (binding.subjects?.length ?? 1) - 1],
        ]}
      />
      <Rights grant={grant} />
      {error !== undefined && (
        <Notice tone="bad" title="The role is not revoked">
          {error}
        </Notice>
      )}
      <CommandBox
        label="Revoke it with kubectl"
        command={
          rest === undefined
            ? `kubectl delete ${namespace === undefined ? 'clusterrolebinding' : `rolebinding -n ${namespace}`} ${binding.metadata.name}`
            : `kubectl edit ${namespace === undefined ? 'clusterrolebinding' : `rolebinding -n ${namespace}`} ${binding.metadata.name}`
        }
      />
    </Dialog>
  );
}

function Rights({ grant: { role, rules, summary } }: { readonly grant: Grant }): ReactElement {
  return (
    <div>
      <h3>What it allows</h3>
      {rules === undefined ? (
        <p className="muted access-rules">
          {builtInRoles.has(role) ? `Built in: ${summary}.` : `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`}
        </p>
      ) : (
        <ul className="access-rules">
          {rules.map((rule, index) => (
            <li key={index}>{ruleText(rule)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

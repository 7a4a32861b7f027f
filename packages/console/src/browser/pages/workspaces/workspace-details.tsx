import { useState, type ReactElement } from 'react';
import { Link } from 'react-router';
import { Age } from '../../components/age.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { ConditionList } from '../../components/condition-list.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Facts } from '../../components/facts.tsx';
import { Icon } from '../../components/icon.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Menu } from '../../components/menu.tsx';
import { Notice } from '../../components/notice.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { useToast } from '../../components/toast.tsx';
import { ApiError } from '../../data/api-error.ts';
import { useApp } from '../../hooks/app-context.ts';
import { useChildWorkspaces, workspacesAt } from '../../hooks/use-child-workspaces.ts';
import { useLiveObject } from '../../hooks/use-live-object.ts';
import { conditionTone, phaseTone } from '../../model/tone.ts';
import { workspaceProgress, type ProgressSource } from '../../model/workspace-progress.ts';
import { parentOf } from '../../model/workspace-tree.ts';
import { phaseOf, type Workspace } from '../../model/workspace.ts';
import { workspaceUrl } from '../page-definition.ts';
import { CreateWorkspaceDialog } from './create-workspace-dialog.tsx';
import { DeleteWorkspaceDialog } from './delete-workspace-dialog.tsx';
import { ProgressCard } from './progress-card.tsx';
import { UsageCard } from './usage-card.tsx';

interface LogicalCluster extends ProgressSource {
  readonly spec?: { readonly createdBy?: { readonly username?: string } };
}

/** One workspace: what it is, how it does, and what can be done with it. */
export function WorkspaceDetails({ cluster }: { readonly cluster: string }): ReactElement {
  const [dialog, setDialog] = useState<'create' | 'delete'>();
  const parent = parentOf(cluster);
  const name = cluster.split(':').at(-1) ?? cluster;
  const own = useLiveObject<Workspace>(workspacesAt(parent ?? cluster), parent === undefined ? undefined : name);
  const workspace = own.items[0];
  const inner = useLiveObject<LogicalCluster>(
    { cluster, group: 'core.kcp.io', version: 'v1alpha1', resource: 'logicalclusters' },
    'cluster',
  );
  const logicalCluster = inner.items[0];
  const isClosed = inner.failure instanceof ApiError && inner.failure.code === 403;
  const isGone = parent !== undefined && own.isSynced && workspace === undefined;
  if (isGone)
    return (
      <div className="stack">
        <PageHeader title={name} />
        <Notice tone="warn" title="There is no such workspace, or not any more">
          <Link to={workspaceUrl(parent)}>Go to {parent}</Link>
        </Notice>
      </div>
    );
  const phase = workspace === undefined ? (logicalCluster?.status?.phase ?? '') : phaseOf(workspace);
  const steps = workspaceProgress(workspace, logicalCluster);
  const isDeleting = phase === 'Deleting';
  const conditions = [...(workspace?.status?.conditions ?? []), ...(logicalCluster?.status?.conditions ?? [])]
    .filter((condition) => conditionTone(condition) !== 'good')
    .filter(({ type }, index, all) => all.findIndex((other) => other.type === type) === index);
  return (
    <div className="stack">
      <PageHeader
        title={name}
        badge={phase !== '' && <Badge tone={phaseTone(phase)}>{phase}</Badge>}
        description={<code className="path-code">{cluster}</code>}
        actions={
          <>
            <Button icon="plus" variant="primary" disabled={isDeleting} onClick={() => setDialog('create')}>
              Create workspace
            </Button>
            <MoreActions
              cluster={cluster}
              onDelete={parent === undefined || isDeleting ? undefined : () => setDialog('delete')}
            />
          </>
        }
      />
      {steps.length > 0 && <ProgressCard title={isDeleting ? 'Deletion' : 'Creation'} steps={steps} />}
      {isClosed && (
        <Notice tone="info" title="You do not see everything here">
          You know that this workspace exists, but its own details are not visible to you. Its administrators give
          access.
        </Notice>
      )}
      {phase === 'Ready' && !isClosed && <NextSteps cluster={cluster} onCreate={() => setDialog('create')} />}
      <Card title="About">
        <WorkspaceFacts cluster={cluster} workspace={workspace} logicalCluster={logicalCluster} />
      </Card>
      {conditions.length > 0 && steps.length === 0 && (
        <Card title="Conditions that are not met">
          <ConditionList conditions={conditions} />
        </Card>
      )}
      <UsageCard cluster={cluster} />
      <CommandBox
        label="Work in it with kubectl"
        command={`kubectl ws :${cluster}\nkubectl get workspaces\nkubectl get workspaceusage cluster`}
      />
      {dialog === 'create' && <CreateWorkspaceDialog cluster={cluster} onClose={() => setDialog(undefined)} />}
      {dialog === 'delete' && parent !== undefined && (
        <DeleteWorkspaceDialog parent={parent} name={name} onClose={() => setDialog(undefined)} />
      )}
    </div>
  );
}

function WorkspaceFacts({
  cluster,
  workspace,
  logicalCluster,
}: {
  readonly cluster: string;
  readonly workspace: Workspace | undefined;
  readonly logicalCluster: LogicalCluster | undefined;
}): ReactElement {
  const { items, isSynced } = useChildWorkspaces(cluster);
  const annotations = { ...logicalCluster?.metadata.annotations, ...workspace?.metadata.annotations };
  const type = workspace?.spec?.type;
  const created = workspace?.metadata.creationTimestamp ?? logicalCluster?.metadata.creationTimestamp;
  const typePath =
    type === undefined ? annotations['internal.tenancy.kcp.io/type'] : [type.path, type.name].filter(Boolean).join(':');
  const mount = workspace?.spec?.mount?.ref;
  return (
    <Facts
      of={[
        ['Type', typePath],
        ['Shard', annotations['core.kcp.io/shard']],
        ['Workspaces below', isSynced ? items.length : undefined],
        ['Created', created === undefined ? undefined : <Age of={created} />],
        ['Created by', logicalCluster?.spec?.createdBy?.username],
        ['Logical cluster', <code>{workspace?.spec?.cluster ?? annotations['kcp.io/cluster'] ?? cluster}</code>],
        ['Mount', mount === undefined ? undefined : `${mount.kind} ${mount.name}`],
        ['API', workspace?.spec?.URL === undefined ? undefined : <code>{workspace.spec.URL}</code>],
      ]}
    />
  );
}

function MoreActions({
  cluster,
  onDelete,
}: {
  readonly cluster: string;
  readonly onDelete: (() => void) | undefined;
}): ReactElement {
  const { api } = useApp();
  const toast = useToast();
  const kubeconfigPath = `kubeconfig?cluster=${encodeURIComponent(cluster)}`;
  const read = async (): Promise<string> => {
    try {
      return await (await api.send(kubeconfigPath, { accept: 'application/yaml' })).text();
    } catch (failure) {
      toast({ tone: 'bad', title: 'There is no kubeconfig', text: (failure as Error).message });
      throw failure;
    }
  };
  return (
    <>
      <CopyButton label="Copy a kubeconfig for this workspace" text={read}>
        Kubeconfig
      </CopyButton>
      <Menu
        trigger={<IconButton icon="more" label="More actions" className="icon-button-framed" />}
        items={[
          {
            id: 'download',
            label: 'Download the kubeconfig',
            icon: 'download',
            onSelect: () => location.assign(`/console/${kubeconfigPath}`),
          },
          {
            id: 'delete',
            label: 'Delete the workspace',
            icon: 'trash',
            isDangerous: true,
            isDisabled: onDelete === undefined,
            onSelect: () => onDelete?.(),
          },
        ]}
      />
    </>
  );
}

/** What one does in a workspace, for those who see one for the first time. */
function NextSteps({ cluster, onCreate }: { readonly cluster: string; readonly onCreate: () => void }): ReactElement {
  return (
    <ul className="next-steps">
      <li>
        <button type="button" onClick={onCreate}>
          <Icon name="workspaces" size={20} />
          <strong>Add a workspace</strong>
          <span>An API endpoint of its own for a team, an environment or a tenant.</span>
        </button>
      </li>
      <li>
        <Link to={workspaceUrl(cluster, 'catalogue')}>
          <Icon name="plug" size={20} />
          <strong>Bind an API</strong>
          <span>Use what others offer: pick it from the catalogue and decide what its provider may see.</span>
        </Link>
      </li>
      <li>
        <Link to={workspaceUrl(cluster, 'resources')}>
          <Icon name="resources" size={20} />
          <strong>Look at its objects</strong>
          <span>Every resource that is served here, live, with its schema.</span>
        </Link>
      </li>
    </ul>
  );
}

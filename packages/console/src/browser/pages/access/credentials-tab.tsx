import { useState, type ReactElement } from 'react';
import { Link } from 'react-router';
import { Age } from '../../components/age.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { DataTable, type DataColumn } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Field } from '../../components/field.tsx';
import { IconButton } from '../../components/icon-button.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { objectPath } from '../../data/api-paths.ts';
import type { KubeObject } from '../../data/kube-object.ts';
import { useApp } from '../../hooks/app-context.ts';
import { useObjects } from '../../hooks/use-objects.ts';
import { requestState, type CertificateRequest } from '../../model/certificate-request.ts';
import { objectUrl } from '../page-definition.ts';

const accountsResource = { group: '', version: 'v1', resource: 'serviceaccounts' };
const requestsResource = { group: 'certificates.k8s.io', version: 'v1', resource: 'certificatesigningrequests' };

/** How programs and users prove who they are: service accounts with tokens, and client certificates. */
export function CredentialsTab({ cluster }: { readonly cluster: string }): ReactElement {
  const accounts = useObjects<KubeObject>({ cluster, ...accountsResource });
  const [account, setAccount] = useState<KubeObject>();
  return (
    <div className="stack">
      {accounts.failure !== undefined && (
        <Notice tone="bad" title="The service accounts cannot be listed">
          {accounts.failure.message}
        </Notice>
      )}
      {!accounts.isSynced && accounts.failure === undefined && <Loading />}
      {accounts.isSynced && (
        <Card title="Service accounts" description="Identities of programs. A token of one ends by itself." isFlush>
          {accounts.items.length === 0 ? (
            <EmptyState icon="key" title="There are no service accounts">
              <p>A program that works in this workspace gets an identity of its own, with a role and a token.</p>
              <CommandBox command={`kubectl ws :${cluster}\nkubectl create serviceaccount deployer`} />
            </EmptyState>
          ) : (
            <DataTable
              label="Service accounts"
              rows={accounts.items}
              columns={accountColumns(cluster)}
              keyOf={({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`}
              initialSort={{ column: 'name' }}
              maxHeight={360}
              actions={(each) => (
                <IconButton
                  icon="key"
                  label={`Create a token for ${each.metadata.name}`}
                  onClick={() => setAccount(each)}
                />
              )}
            />
          )}
        </Card>
      )}
      <CertificateRequests cluster={cluster} />
      {account !== undefined && (
        <TokenDialog cluster={cluster} account={account} onClose={() => setAccount(undefined)} />
      )}
    </div>
  );
}

const accountColumns = (cluster: string): readonly DataColumn<KubeObject>[] => [
  {
    id: 'name',
    title: 'Name',
    weight: 2,
    value: ({ metadata }) => metadata.name,
    render: ({ metadata }) => (
      <Link className="cell-name" to={objectUrl(cluster, accountsResource, metadata.name, metadata.namespace)}>
        {metadata.name}
      </Link>
    ),
  },
  { id: 'namespace', title: 'Namespace', weight: 1.5, value: ({ metadata }) => metadata.namespace },
  {
    id: 'user',
    title: 'User in roles',
    weight: 3,
    value: ({ metadata }) => `system:serviceaccount:${metadata.namespace ?? ''}:${metadata.name}`,
    render: ({ metadata }) => <code>{`system:serviceaccount:${metadata.namespace ?? ''}:${metadata.name}`}</code>,
  },
  {
    id: 'age',
    title: 'Age',
    value: ({ metadata }) => metadata.creationTimestamp,
    render: ({ metadata }) => metadata.creationTimestamp !== undefined && <Age of={metadata.creationTimestamp} />,
  },
];

const lifetimes = [
  [3_600, '1 hour'],
  [86_400, '1 day'],
  [604_800, '7 days'],
] as const;

interface TokenAnswer {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

/** A token is shown once; it is in no store of the browser. */
function TokenDialog({
  cluster,
  account,
  onClose,
}: {
  readonly cluster: string;
  readonly account: KubeObject;
  readonly onClose: () => void;
}): ReactElement {
  const { api } = useApp();
  const [seconds, setSeconds] = useState<number>(lifetimes[0][0]);
  const [answer, setAnswer] = useState<TokenAnswer['status']>();
  const [error, setError] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const { name, namespace = 'default' } = account.metadata;
  const create = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: seconds },
    };
    try {
      const path = objectPath({ cluster, ...accountsResource, namespace }, name, 'token');
      setAnswer((await api.json<TokenAnswer>(path, { method: 'POST', body: JSON.stringify(body) })).status);
    } catch (failure) {
      setError((failure as Error).message);
    }
    setIsBusy(false);
  };
  return (
    <Dialog
      title={`Token of ${name}`}
      description={`For programs that work as the service account ${namespace}/${name}.`}
      onClose={onClose}
      {...(answer === undefined ? { onSubmit: () => void create() } : {})}
      actions={
        answer === undefined ? (
          <>
            <Button variant="ghost" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" variant="primary" isBusy={isBusy}>
              Create token
            </Button>
          </>
        ) : (
          <>
            <CopyButton text={answer.token} label="Copy the token">
              Copy
            </CopyButton>
            <Button variant="primary" onClick={onClose}>
              Done
            </Button>
          </>
        )
      }
    >
      {answer === undefined ? (
        <>
          <Field label="Valid for" hint="The control plane may shorten it.">
            {(control) => (
              <select
                {...control}
                className="input"
                value={seconds}
                onChange={(event) => setSeconds(Number(event.target.value))}
              >
                {lifetimes.map(([value, text]) => (
                  <option key={value} value={value}>
                    {text}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <CommandBox
            command={`kubectl ws :${cluster}\nkubectl create token ${name} --namespace=${namespace} --duration=${seconds}s`}
          />
        </>
      ) : (
        <>
          <Notice tone="info" title="Copy it now">
            The token is not shown again. It ends at {new Date(answer.expirationTimestamp).toLocaleString()}.
          </Notice>
          <div className="token-box" tabIndex={0} role="region" aria-label="Token">
            {answer.token}
          </div>
        </>
      )}
      {error !== undefined && (
        <Notice tone="bad" title="There is no token">
          {error}
        </Notice>
      )}
    </Dialog>
  );
}

const requestColumns = (cluster: string): readonly DataColumn<CertificateRequest>[] => [
  {
    id: 'name',
    title: 'Request',
    weight: 2,
    value: ({ metadata }) => metadata.name,
    render: ({ metadata }) => (
      <Link className="cell-name" to={objectUrl(cluster, requestsResource, metadata.name)}>
        {metadata.name}
      </Link>
    ),
  },
  { id: 'signer', title: 'Signer', weight: 3, value: ({ spec }) => spec.signerName },
  { id: 'user', title: 'Requested by', weight: 2, value: ({ spec }) => spec.username },
  {
    id: 'state',
    title: 'State',
    weight: 1.4,
    value: (each) => requestState(each).text,
    render: (each) => <Badge tone={requestState(each).tone}>{requestState(each).text}</Badge>,
  },
  {
    id: 'age',
    title: 'Age',
    value: ({ metadata }) => metadata.creationTimestamp,
    render: ({ metadata }) => metadata.creationTimestamp !== undefined && <Age of={metadata.creationTimestamp} />,
  },
];

function CertificateRequests({ cluster }: { readonly cluster: string }): ReactElement {
  const { items, isSynced, failure } = useObjects<CertificateRequest>({ cluster, ...requestsResource });
  if (failure !== undefined && !isSynced)
    return (
      <Notice tone="bad" title="The requests for certificates cannot be listed">
        {failure.message}
      </Notice>
    );
  return (
    <Card
      title="Requests for client certificates"
      description="A certificate signed here proves a user in this workspace. Whoever may approve it, vouches for its name."
      isFlush={items.length > 0}
    >
      {!isSynced ? (
        <Loading rows={2} />
      ) : items.length === 0 ? (
        <p className="muted">
          None. A user makes a key and a CertificateSigningRequest, and an administrator approves it with{' '}
          <code>kubectl certificate approve</code>.
        </p>
      ) : (
        <DataTable
          label="Requests for client certificates"
          rows={items}
          columns={requestColumns(cluster)}
          keyOf={({ metadata }) => metadata.name}
          initialSort={{ column: 'age', isDescending: true }}
          maxHeight={360}
        />
      )}
    </Card>
  );
}

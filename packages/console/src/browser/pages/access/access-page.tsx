import { useState, type ReactElement } from 'react';
import { useSearchParams } from 'react-router';
import { Button } from '../../components/button.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { useCluster } from '../../hooks/use-cluster.ts';
import { CredentialsTab } from './credentials-tab.tsx';
import { DeniedTab } from './denied-tab.tsx';
import { GrantWizard } from './grant-wizard.tsx';
import { GrantsTab } from './grants-tab.tsx';
import './access.css';

/** Who may do what in a workspace, and why somebody may not. */
export function AccessPage(): ReactElement {
  const cluster = useCluster();
  const [search, setSearch] = useSearchParams();
  const [isGranting, setIsGranting] = useState(false);
  const grant = (): void => setIsGranting(true);
  return (
    <div className="stack">
      <PageHeader
        title="Access"
        description="Who may do what in this workspace, and why not."
        actions={
          <Button variant="primary" icon="plus" onClick={grant}>
            Grant a role
          </Button>
        }
      />
      <Tabs
        label="Parts of access"
        selected={search.get('tab') ?? 'grants'}
        onSelect={(tab) => setSearch({ tab }, { replace: true })}
        tabs={[
          { id: 'grants', label: 'Who may do what', content: <GrantsTab cluster={cluster} onGrant={grant} /> },
          { id: 'denied', label: 'Why was this denied?', content: <DeniedTab key={cluster} cluster={cluster} /> },
          { id: 'credentials', label: 'Tokens and certificates', content: <CredentialsTab cluster={cluster} /> },
        ]}
      />
      {isGranting && <GrantWizard cluster={cluster} onClose={() => setIsGranting(false)} />}
    </div>
  );
}

import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState, type ReactElement } from 'react';
import { Link } from 'react-router';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { Icon } from '../../components/icon.tsx';
import { useDiscovery } from '../../hooks/use-discovery.ts';
import type { ApiBinding } from '../../model/api-export.ts';
import type { ApiResource } from '../../model/discovery.ts';
import { resourceUrl } from '../page-definition.ts';
import { CreateObjectDialog } from '../resources/create-object-dialog.tsx';

/** What has been bound, and the way to an object of it. */
export function FirstObject({
  cluster,
  binding,
}: {
  readonly cluster: string;
  readonly binding: ApiBinding;
}): ReactElement | null {
  const queries = useQueryClient();
  const { data } = useDiscovery(cluster);
  const [creating, setCreating] = useState<ApiResource>();
  const bound = binding.status?.boundResources ?? [];
  const served = bound.flatMap(
    ({ group, resource }) => data?.filter((own) => own.group === group && own.resource === resource) ?? [],
  );
  useEffect(() => {
    // Discovery knows a resource once it is bound.
    if (served.length < bound.length) void queries.invalidateQueries({ queryKey: ['discovery', cluster] });
  }, [served.length, bound.length, queries, cluster]);
  if (binding.status?.phase !== 'Bound') return null;
  return (
    <Card title="Ready to use" description="These resources are served in your workspace now.">
      <ul className="bound">
        {served.map((resource) => (
          <li key={resource.resource}>
            <Icon name="resources" />
            <Link to={resourceUrl(cluster, resource)}>{resource.kind}</Link>
            {resource.verbs.includes('create') && (
              <Button size="small" icon="plus" variant="primary" onClick={() => setCreating(resource)}>
                Create {resource.kind}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {creating !== undefined && (
        <CreateObjectDialog
          cluster={cluster}
          resource={creating}
          namespace="default"
          onClose={() => setCreating(undefined)}
        />
      )}
    </Card>
  );
}

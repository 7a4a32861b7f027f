import { useQuery } from '@tanstack/react-query';
import { useMemo, useState, type ReactElement } from 'react';
import { Card } from '../../components/card.tsx';
import { Loading } from '../../components/loading.tsx';
import { SchemaDocumentation } from '../../components/schema-documentation.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { clusterPath } from '../../data/api-paths.ts';
import { useApp } from '../../hooks/app-context.ts';
import type { ApiExport, ApiResourceSchema } from '../../model/api-export.ts';
import type { OpenApiSchema } from '../../model/openapi.ts';

/** What an export serves, with the documentation that its schemas contain. */
export function ExportedResources({
  provider,
  of,
}: {
  readonly provider: string;
  readonly of: ApiExport;
}): ReactElement {
  const resources = of.spec?.resources ?? [];
  const [selected, setSelected] = useState(resources[0]?.schema ?? '');
  if (resources.length === 0)
    return (
      <Card title="Resources">
        <p className="muted">The export serves nothing yet.</p>
      </Card>
    );
  return (
    <Card title="Resources" description="What is served in your workspace once the API is bound.">
      <Tabs
        label="Resources of the export"
        selected={selected}
        onSelect={setSelected}
        tabs={resources.map(({ name, group, schema }) => ({
          id: schema,
          label: name,
          content: <ResourceSchema provider={provider} name={schema} resource={`${name}.${group}`} />,
        }))}
      />
    </Card>
  );
}

function ResourceSchema({
  provider,
  name,
  resource,
}: {
  readonly provider: string;
  readonly name: string;
  readonly resource: string;
}): ReactElement {
  const { api } = useApp();
  const { data, error } = useQuery({
    queryKey: ['apiresourceschema', provider, name],
    queryFn: ({ signal }) =>
      api.json<ApiResourceSchema>(
        `${clusterPath(provider)}/apis/apis.kcp.io/v1alpha1/apiresourceschemas/${encodeURIComponent(name)}`,
        {
          signal,
        },
      ),
    staleTime: Infinity,
    retry: false,
  });
  const schema = useMemo(() => schemaOf(data), [data]);
  if (error !== null)
    return (
      <p className="muted">Its schema is not visible to you. After binding, it is documented here in your workspace.</p>
    );
  if (data === undefined) return <Loading rows={4} />;
  const versions = (data.spec?.versions ?? []).filter(({ served }) => served !== false).map((version) => version.name);
  return (
    <>
      <p className="schema-summary">
        <strong>{data.spec?.names.kind}</strong>
        <span className="tag">{resource}</span>
        <span className="tag">{versions.join(', ')}</span>
        <span className="muted">{data.spec?.scope === 'Namespaced' ? 'in namespaces' : 'for the whole workspace'}</span>
      </p>
      {schema === undefined ? (
        <p className="muted">The schema documents no fields.</p>
      ) : (
        <SchemaDocumentation document={{}} schema={schema} />
      )}
    </>
  );
}

/** Of the newest version that is served. */
function schemaOf(data: ApiResourceSchema | undefined): OpenApiSchema | undefined {
  const version = data?.spec?.versions?.find(({ served }) => served !== false);
  const schema = version?.schema;
  return typeof schema === 'object' && schema !== null ? schema : undefined;
}

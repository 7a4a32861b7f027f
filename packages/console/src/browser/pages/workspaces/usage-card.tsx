import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { Card } from '../../components/card.tsx';
import { clusterPath } from '../../data/api-paths.ts';
import { useApp } from '../../hooks/app-context.ts';
import { usageMeter, type UsageLimit } from '../../model/usage.ts';

interface WorkspaceUsage {
  readonly status?: { readonly limits?: readonly UsageLimit[] };
}

/** It is computed for each request and cannot be watched. */
const refreshMs = 15_000;

/** What a workspace uses of its limits; nothing for those who may not read it. */
export function UsageCard({ cluster }: { readonly cluster: string }): ReactElement | null {
  const { api } = useApp();
  const { data } = useQuery({
    queryKey: ['usage', cluster],
    queryFn: ({ signal }) =>
      api.json<WorkspaceUsage>(`${clusterPath(cluster)}/apis/limits.multiplane.dev/v1alpha1/workspaceusages/cluster`, {
        signal,
      }),
    refetchInterval: refreshMs,
    retry: false,
  });
  const limits = data?.status?.limits ?? [];
  if (limits.length === 0) return null;
  return (
    <Card title="Usage" description="What this workspace uses of its limits, computed now.">
      <ul className="meters">
        {limits.map(usageMeter).map(({ name, title, used, max, share, tone, source }) => (
          <li key={name} title={source}>
            <div className="meter-head">
              <span>{title}</span>
              <span className="muted">
                <strong>{used}</strong> {share === undefined ? '· no limit' : `of ${max}`}
              </span>
            </div>
            <div
              className={`meter meter-${tone}`}
              role="meter"
              aria-label={title}
              aria-valuemin={0}
              aria-valuemax={100}
              aria-valuenow={Math.round((share ?? 0) * 100)}
              aria-valuetext={`${used} of ${max}`}
            >
              <span style={{ width: `${(share ?? 0) * 100}%` }} />
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}

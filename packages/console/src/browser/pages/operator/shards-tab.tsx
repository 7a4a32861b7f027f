import type { ReactElement } from 'react';
import { Link } from 'react-router';
import { Badge } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { DataTable, type DataColumn } from '../../components/data-table.tsx';
import { Notice } from '../../components/notice.tsx';
import { countText, secondsText, shardState, workspaceCount, type ShardFigures } from '../../model/operator.ts';
import { bytesText } from '../../model/usage.ts';
import { objectUrl } from '../page-definition.ts';

const shardsResource = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'shards' };

const columns: readonly DataColumn<ShardFigures>[] = [
  {
    id: 'name',
    title: 'Shard',
    weight: 1.8,
    value: ({ name }) => name,
    render: ({ name }) => (
      <Link className="cell-name" to={objectUrl('root', shardsResource, name)}>
        {name}
      </Link>
    ),
  },
  {
    id: 'state',
    title: 'Health',
    weight: 1.5,
    value: (shard) => shardState(shard).text,
    render: (shard) => {
      const { tone, text, detail } = shardState(shard);
      return (
        <Badge tone={tone} title={detail}>
          {text}
        </Badge>
      );
    },
  },
  {
    id: 'workspaces',
    title: 'Workspaces',
    weight: 1.3,
    description: 'Logical clusters that are placed on the shard',
    isNumber: true,
    value: workspaceCount,
    render: (shard) => countText(workspaceCount(shard)),
  },
  {
    id: 'inFlight',
    title: 'In flight',
    description: 'Requests that are being executed, without watches',
    isNumber: true,
    value: ({ requests }) => requests?.inFlight,
  },
  {
    id: 'watches',
    title: 'Watches',
    isNumber: true,
    value: ({ requests }) => requests?.watches,
    render: ({ requests }) => requests !== undefined && countText(requests.watches),
  },
  {
    id: 'errors',
    title: 'Errors',
    description: 'Answers with 5xx since its start',
    isNumber: true,
    value: ({ requests }) => requests?.errors,
    render: ({ requests }) => requests !== undefined && countText(requests.errors),
  },
  {
    id: 'delay',
    title: 'Delay',
    description: 'How late the event loop is; above 50 ms the shard is overloaded',
    isNumber: true,
    value: ({ eventLoopDelay }) => eventLoopDelay,
    render: ({ eventLoopDelay }) => eventLoopDelay !== undefined && secondsText(eventLoopDelay),
  },
  {
    id: 'memory',
    title: 'Memory',
    isNumber: true,
    value: ({ memoryBytes }) => memoryBytes,
    render: ({ memoryBytes }) => memoryBytes !== undefined && bytesText(memoryBytes),
  },
  {
    id: 'replication',
    title: 'Replication',
    description: 'For how long the oldest change waits to reach other shards',
    isNumber: true,
    weight: 1.2,
    value: ({ replication }) => replication?.lagSeconds,
    render: ({ replication }) => replication?.lagSeconds !== undefined && secondsText(replication.lagSeconds),
  },
];

/** Each shard with its health and load. */
export function ShardsTab({ shards }: { readonly shards: readonly ShardFigures[] }): ReactElement {
  return (
    <div className="stack">
      {shards
        .filter((shard) => ['bad', 'warn'].includes(shardState(shard).tone))
        .map((shard) => {
          const { tone, text, detail } = shardState(shard);
          return (
            <Notice key={shard.name} tone={tone} title={`${shard.name}: ${text}`}>
              {detail}
            </Notice>
          );
        })}
      <Card title="Shards" description="Each one has the workspaces that are placed on it." isFlush>
        <DataTable
          label="Shards"
          rows={shards}
          columns={columns}
          keyOf={({ name }) => name}
          initialSort={{ column: 'name' }}
          maxHeight={520}
        />
      </Card>
      <CommandBox command={'kubectl ws :root\nkubectl get shards\nkubectl get --raw /metrics'} />
    </div>
  );
}

import { useMemo, type ReactElement } from 'react';
import { Link } from 'react-router';
import { Badge } from '../../components/badge.tsx';
import { Card } from '../../components/card.tsx';
import { DataTable, type DataColumn } from '../../components/data-table.tsx';
import { countText, levelsOf, levelState, type PriorityLevel, type ShardFigures } from '../../model/operator.ts';
import { objectUrl } from '../page-definition.ts';

const levels = { group: 'flowcontrol.apiserver.k8s.io', version: 'v1', resource: 'prioritylevelconfigurations' };

const columns: readonly DataColumn<PriorityLevel>[] = [
  {
    id: 'level',
    title: 'Priority level',
    weight: 2.4,
    value: ({ priorityLevel }) => priorityLevel,
    render: ({ priorityLevel }) => (
      <Link className="cell-name" to={objectUrl('root', levels, priorityLevel)}>
        {priorityLevel}
      </Link>
    ),
  },
  {
    id: 'state',
    title: 'State',
    weight: 1.4,
    value: (level) => levelState(level).text,
    render: (level) => {
      const { tone, text, detail } = levelState(level);
      return (
        <Badge tone={tone} title={detail}>
          {text}
        </Badge>
      );
    },
  },
  { id: 'executing', title: 'Executing', isNumber: true, value: ({ executing }) => executing },
  { id: 'seats', title: 'Seats', isNumber: true, value: ({ seats }) => seats },
  { id: 'inQueue', title: 'Waiting', isNumber: true, value: ({ inQueue }) => inQueue },
  {
    id: 'rejected',
    title: 'Rejected',
    description: 'With 429, since the shards were started',
    isNumber: true,
    value: ({ rejected }) => rejected,
    render: ({ rejected }) => countText(rejected),
  },
];

/** Queues of priority and fairness, summed over the shards. */
export function FlowControlTab({ shards }: { readonly shards: readonly ShardFigures[] }): ReactElement {
  const rows = useMemo(() => levelsOf(shards), [shards]);
  return (
    <Card
      title="Priority and fairness"
      description="Requests wait in the queues of their priority level while all its seats are taken; what does not fit is rejected."
      isFlush
    >
      <DataTable
        label="Priority levels"
        rows={rows}
        columns={columns}
        keyOf={({ priorityLevel }) => priorityLevel}
        maxHeight={560}
      />
    </Card>
  );
}

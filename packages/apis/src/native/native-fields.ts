import { apiVersionOf, type GroupVersionKind } from '@multiplane/apimachinery';
import { at } from '../fields.ts';
import type { FieldSelectorLabels } from '../resource-definition.ts';
import type { NativeObject } from './cells.ts';

/** Fields by which Kubernetes selects objects of its own kinds, and what an absent one counts as. */
const fields: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'v1/Node': { 'spec.unschedulable': 'false' },
  'v1/Pod': {
    'spec.hostNetwork': 'false',
    'spec.nodeName': '',
    'spec.restartPolicy': '',
    'spec.schedulerName': '',
    'spec.serviceAccountName': '',
    'status.nominatedNodeName': '',
    'status.phase': '',
    'status.podIP': '',
  },
  'v1/ReplicationController': { 'status.replicas': '0' },
  'v1/Service': { 'spec.clusterIP': '', 'spec.type': '' },
  'apps/v1/ReplicaSet': { 'status.replicas': '0' },
  'batch/v1/Job': { 'status.successful': '0' },
};

/** Selectable fields of a kind that a definition brings back, besides those that the definition names. */
export function nativeFieldSelectors(kind: GroupVersionKind): FieldSelectorLabels {
  const known = fields[`${apiVersionOf(kind)}/${kind.kind}`] ?? {};
  return Object.fromEntries(
    Object.entries(known).map(([name, absent]) => {
      // The number of a job's pods that succeeded is selected by another name than it has.
      const path = name === 'status.successful' ? ['status', 'succeeded'] : name.split('.');
      return [name, (object: NativeObject) => textOf(at(object, ...path)) ?? absent];
    }),
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

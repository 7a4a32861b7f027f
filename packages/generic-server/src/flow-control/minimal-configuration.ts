import { mastersGroup } from '@multiplane/apimachinery';
import type { FlowControlConfiguration } from './flow-control-configuration.ts';

const everything = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }];
const everyPath = [{ verbs: ['*'], nonResourceURLs: ['*'] }];
const base = { uid: '', lendablePercent: 0, borrowingLimitPercent: undefined };

/** For servers that do not read FlowSchemas: `system:masters` is exempt, all others share one level, each as a flow. */
export const minimalFlowControl: FlowControlConfiguration = {
  levels: [
    { ...base, name: 'exempt', exempt: true, nominalConcurrencyShares: 0, queuing: undefined },
    {
      ...base,
      name: 'catch-all',
      exempt: false,
      nominalConcurrencyShares: 1,
      queuing: { queues: 128, handSize: 6, queueLengthLimit: 50 },
    },
  ],
  schemas: [
    {
      name: 'exempt',
      uid: '',
      matchingPrecedence: 1,
      priorityLevel: 'exempt',
      distinguisher: undefined,
      rules: [
        { subjects: [{ kind: 'Group', name: mastersGroup }], resourceRules: everything, nonResourceRules: everyPath },
      ],
    },
    {
      name: 'probes',
      uid: '',
      matchingPrecedence: 2,
      priorityLevel: 'exempt',
      distinguisher: undefined,
      rules: [
        {
          subjects: [{ kind: 'User', name: '*' }],
          resourceRules: [],
          nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
        },
      ],
    },
    {
      name: 'catch-all',
      uid: '',
      matchingPrecedence: 10_000,
      priorityLevel: 'catch-all',
      distinguisher: 'ByUser',
      rules: [{ subjects: [{ kind: 'User', name: '*' }], resourceRules: everything, nonResourceRules: everyPath }],
    },
  ],
};

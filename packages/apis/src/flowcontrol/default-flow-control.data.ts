import type { JsonObject } from '@multiplane/apimachinery';

/** The group and version of flow control objects. */
export const flowControlGroup = 'flowcontrol.apiserver.k8s.io';
/** While "true" the server keeps the spec of a default object as it is here. */
export const flowControlAutoUpdateAnnotation = 'apf.kubernetes.io/autoupdate-spec';

/** A default object: mandatory ones cannot be changed, suggested ones can once the annotation is taken away. */
export interface DefaultFlowControlObject {
  readonly name: string;
  readonly mandatory: boolean;
  readonly spec: JsonObject;
}

const everything: readonly JsonObject[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] },
];
const everyPath: readonly JsonObject[] = [{ verbs: ['*'], nonResourceURLs: ['*'] }];
const leases = (verbs: string[]): readonly JsonObject[] => [
  { verbs, apiGroups: ['coordination.k8s.io'], resources: ['leases'], namespaces: ['*'] },
];

const groups = (...names: string[]): JsonObject[] => names.map((name) => ({ kind: 'Group', group: { name } }));
const users = (...names: string[]): JsonObject[] => names.map((name) => ({ kind: 'User', user: { name } }));
const systemAccounts = (...names: string[]): JsonObject[] =>
  names.map((name) => ({ kind: 'ServiceAccount', serviceAccount: { namespace: 'kube-system', name } }));

function flowSchema(
  name: string,
  level: string,
  matchingPrecedence: number,
  distinguisher: 'ByUser' | 'ByNamespace' | undefined,
  subjects: readonly JsonObject[],
  resourceRules: readonly JsonObject[],
  nonResourceRules: readonly JsonObject[] = [],
  mandatory = false,
): DefaultFlowControlObject {
  return {
    name,
    mandatory,
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence,
      ...(distinguisher === undefined ? {} : { distinguisherMethod: { type: distinguisher } }),
      rules: [
        {
          subjects: [...subjects],
          ...(resourceRules.length === 0 ? {} : { resourceRules: [...resourceRules] }),
          ...(nonResourceRules.length === 0 ? {} : { nonResourceRules: [...nonResourceRules] }),
        },
      ],
    },
  };
}

const nodeRules: readonly JsonObject[] = [
  { verbs: ['*'], apiGroups: [''], resources: ['nodes', 'nodes/status'], clusterScope: true, namespaces: ['*'] },
  ...leases(['*']),
];
const everybody = groups('system:unauthenticated', 'system:authenticated');
const masters = groups('system:masters');
const election = ['get', 'create', 'update'];
const components = users('system:kube-controller-manager', 'system:kube-scheduler');

export const defaultFlowSchemas: readonly DefaultFlowControlObject[] = [
  flowSchema('exempt', 'exempt', 1, undefined, masters, everything, everyPath, true),
  flowSchema('catch-all', 'catch-all', 10000, 'ByUser', everybody, everything, everyPath, true),
  flowSchema(
    'probes',
    'exempt',
    2,
    undefined,
    everybody,
    [],
    [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
  ),
  flowSchema(
    'system-leader-election',
    'leader-election',
    100,
    'ByUser',
    [...components, ...systemAccounts('*')],
    leases(election),
  ),
  flowSchema(
    'endpoint-controller',
    'workload-high',
    150,
    'ByUser',
    [
      ...users('system:kube-controller-manager'),
      ...systemAccounts('endpoint-controller', 'endpointslicemirroring-controller'),
    ],
    [{ verbs: election, apiGroups: [''], resources: ['endpoints'], namespaces: ['*'] }],
  ),
  flowSchema('workload-leader-election', 'leader-election', 200, 'ByUser', systemAccounts('*'), leases(election)),
  flowSchema('system-node-high', 'node-high', 400, 'ByUser', groups('system:nodes'), nodeRules),
  flowSchema('system-nodes', 'system', 500, 'ByUser', groups('system:nodes'), everything, everyPath),
  flowSchema(
    'kube-controller-manager',
    'workload-high',
    800,
    'ByNamespace',
    users('system:kube-controller-manager'),
    everything,
    everyPath,
  ),
  flowSchema(
    'kube-scheduler',
    'workload-high',
    800,
    'ByNamespace',
    users('system:kube-scheduler'),
    everything,
    everyPath,
  ),
  flowSchema(
    'kube-system-service-accounts',
    'workload-high',
    900,
    'ByNamespace',
    systemAccounts('*'),
    everything,
    everyPath,
  ),
  flowSchema(
    'service-accounts',
    'workload-low',
    9000,
    'ByUser',
    groups('system:serviceaccounts'),
    everything,
    everyPath,
  ),
  flowSchema('global-default', 'global-default', 9900, 'ByUser', everybody, everything, everyPath),
];

function limited(
  name: string,
  nominalConcurrencyShares: number,
  lendablePercent: number,
  queues: number,
  handSize: number,
  queueLengthLimit: number,
): DefaultFlowControlObject {
  const queuing = { queues, handSize, queueLengthLimit };
  return {
    name,
    mandatory: false,
    spec: {
      type: 'Limited',
      limited: { nominalConcurrencyShares, limitResponse: { type: 'Queue', queuing }, lendablePercent },
    },
  };
}

export const defaultPriorityLevels: readonly DefaultFlowControlObject[] = [
  {
    name: 'exempt',
    mandatory: true,
    spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  },
  {
    name: 'catch-all',
    mandatory: true,
    spec: {
      type: 'Limited',
      limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' }, lendablePercent: 0 },
    },
  },
  limited('system', 30, 33, 64, 6, 50),
  limited('node-high', 40, 25, 64, 6, 50),
  limited('leader-election', 10, 0, 16, 4, 50),
  limited('workload-high', 40, 50, 128, 6, 50),
  limited('workload-low', 100, 90, 128, 6, 50),
  limited('global-default', 20, 50, 128, 6, 50),
];

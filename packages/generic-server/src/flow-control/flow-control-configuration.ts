import { isJsonObject, type DeepReadonly, type Json, type KubeObject } from '@multiplane/apimachinery';

/** `*` in any of the lists matches everything. */
export interface FlowResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  /** `pods`, `pods/status` or `*`. */
  readonly resources: readonly string[];
  /** Matches requests without a namespace. */
  readonly clusterScope: boolean;
  readonly namespaces: readonly string[];
}

export interface FlowNonResourceRule {
  readonly verbs: readonly string[];
  /** A path, a prefix that ends with `/*`, or `*`. */
  readonly nonResourceURLs: readonly string[];
}

export type FlowSubject =
  | { readonly kind: 'User' | 'Group'; readonly name: string }
  | { readonly kind: 'ServiceAccount'; readonly namespace: string; readonly name: string };

export interface FlowSchema {
  readonly name: string;
  readonly uid: string;
  readonly matchingPrecedence: number;
  readonly priorityLevel: string;
  /** What distinguishes the flows of one logical cluster; undefined: they are one flow. */
  readonly distinguisher: 'ByUser' | 'ByNamespace' | undefined;
  readonly rules: readonly {
    readonly subjects: readonly FlowSubject[];
    readonly resourceRules: readonly FlowResourceRule[];
    readonly nonResourceRules: readonly FlowNonResourceRule[];
  }[];
}

export interface Queuing {
  readonly queues: number;
  /** Queues that one flow may use. */
  readonly handSize: number;
  /** Requests that fit into one queue. */
  readonly queueLengthLimit: number;
}

export interface PriorityLevel {
  readonly name: string;
  readonly uid: string;
  /** Requests are never queued or rejected. */
  readonly exempt: boolean;
  readonly nominalConcurrencyShares: number;
  readonly lendablePercent: number;
  /** Undefined: all seats that others lend may be borrowed. */
  readonly borrowingLimitPercent: number | undefined;
  /** Undefined: requests without a seat are rejected. */
  readonly queuing: Queuing | undefined;
}

/** The content of FlowSchema and PriorityLevelConfiguration objects. */
export interface FlowControlConfiguration {
  readonly schemas: readonly FlowSchema[];
  readonly levels: readonly PriorityLevel[];
}

type Value = DeepReadonly<Json> | undefined;

const at = (value: Value, ...names: string[]): Value => {
  let current: Value = value;
  for (const name of names) current = isJsonObject(current) ? current[name] : undefined;
  return current;
};
const text = (value: Value): string => (typeof value === 'string' ? value : '');
const list = (value: Value): readonly Value[] => (Array.isArray(value) ? (value as Value[]) : []);
const texts = (value: Value): string[] => list(value).filter((item) => typeof item === 'string');
const number = (value: Value, fallback: number): number => (typeof value === 'number' ? value : fallback);

/** Reads a FlowSchema object (flowcontrol.apiserver.k8s.io/v1), which validation has accepted. */
export function flowSchemaOf(object: DeepReadonly<KubeObject>): FlowSchema {
  const spec = at(object as Value, 'spec');
  const method = text(at(spec, 'distinguisherMethod', 'type'));
  return {
    name: object.metadata.name ?? '',
    uid: object.metadata.uid ?? '',
    matchingPrecedence: number(at(spec, 'matchingPrecedence'), 1000),
    priorityLevel: text(at(spec, 'priorityLevelConfiguration', 'name')),
    distinguisher: method === 'ByUser' || method === 'ByNamespace' ? method : undefined,
    rules: list(at(spec, 'rules')).map((rule) => ({
      subjects: list(at(rule, 'subjects')).flatMap(subjectOf),
      resourceRules: list(at(rule, 'resourceRules')).map((resourceRule) => ({
        verbs: texts(at(resourceRule, 'verbs')),
        apiGroups: texts(at(resourceRule, 'apiGroups')),
        resources: texts(at(resourceRule, 'resources')),
        clusterScope: at(resourceRule, 'clusterScope') === true,
        namespaces: texts(at(resourceRule, 'namespaces')),
      })),
      nonResourceRules: list(at(rule, 'nonResourceRules')).map((pathRule) => ({
        verbs: texts(at(pathRule, 'verbs')),
        nonResourceURLs: texts(at(pathRule, 'nonResourceURLs')),
      })),
    })),
  };
}

function subjectOf(subject: Value): FlowSubject[] {
  switch (text(at(subject, 'kind'))) {
    case 'User':
      return [{ kind: 'User', name: text(at(subject, 'user', 'name')) }];
    case 'Group':
      return [{ kind: 'Group', name: text(at(subject, 'group', 'name')) }];
    case 'ServiceAccount': {
      const account = at(subject, 'serviceAccount');
      return [{ kind: 'ServiceAccount', namespace: text(at(account, 'namespace')), name: text(at(account, 'name')) }];
    }
    default:
      return [];
  }
}

/** Reads a PriorityLevelConfiguration object, which validation has accepted. */
export function priorityLevelOf(object: DeepReadonly<KubeObject>): PriorityLevel {
  const spec = at(object as Value, 'spec');
  const exempt = text(at(spec, 'type')) === 'Exempt';
  const limited = at(spec, exempt ? 'exempt' : 'limited');
  const queuing = at(limited, 'limitResponse', 'queuing');
  const borrowing = at(limited, 'borrowingLimitPercent');
  return {
    name: object.metadata.name ?? '',
    uid: object.metadata.uid ?? '',
    exempt,
    nominalConcurrencyShares: number(at(limited, 'nominalConcurrencyShares'), exempt ? 0 : 30),
    lendablePercent: number(at(limited, 'lendablePercent'), 0),
    borrowingLimitPercent: typeof borrowing === 'number' ? borrowing : undefined,
    queuing:
      queuing === undefined || text(at(limited, 'limitResponse', 'type')) !== 'Queue'
        ? undefined
        : {
            queues: number(at(queuing, 'queues'), 64),
            handSize: number(at(queuing, 'handSize'), 8),
            queueLengthLimit: number(at(queuing, 'queueLengthLimit'), 50),
          },
  };
}

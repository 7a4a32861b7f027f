import type { UserInfo } from '@multiplane/apimachinery';
import { clusterNameExtra } from '../authentication/service-account-claims.ts';
import type { RequestInfo } from '../request/request-info.ts';
import type { FlowNonResourceRule, FlowResourceRule, FlowSchema, FlowSubject } from './flow-control-configuration.ts';

type Test<T> = (value: T) => boolean;

/** A schema, compiled. */
interface Candidate<T> {
  readonly result: T;
  readonly rules: readonly {
    readonly user: Test<UserInfo>;
    /** Only matches users whose names begin with `system:`. Most do not, and need not be compared with names. */
    readonly onlySystem: boolean;
    readonly resource: readonly Test<RequestInfo>[];
    readonly path: readonly Test<RequestInfo>[];
  }[];
}

/**
 * Finds the FlowSchema of a request: the first that matches, in order of `matchingPrecedence`, then name (Kubernetes:
 * apiserver/pkg/util/flowcontrol/rule.go).
 *
 * A subject of kind ServiceAccount means the service account of the logical cluster that holds the configuration: every
 * workspace has a namespace `kube-system`, whose service accounts would otherwise get the seats of the system.
 */
export class FlowSchemaMatcher<T> {
  readonly #candidates: readonly Candidate<T>[];

  /** `cluster`: the logical cluster of the configuration. */
  constructor(options: { readonly cluster: string }, schemas: readonly (readonly [schema: FlowSchema, result: T])[]) {
    this.#candidates = schemas
      .toSorted(
        ([a], [b]) => a.matchingPrecedence - b.matchingPrecedence || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
      )
      .map(([schema, result]) => ({
        result,
        rules: schema.rules.map(({ subjects, resourceRules, nonResourceRules }) => ({
          onlySystem: subjects.every(isOfSystem),
          user: anyOf(subjects.map((subject) => subjectTest(subject, options.cluster))),
          resource: resourceRules.map(resourceTest),
          path: nonResourceRules.map(pathTest),
        })),
      }));
  }

  /** Returns undefined if no schema matches. */
  match(user: UserInfo, info: RequestInfo): T | undefined {
    const { isResourceRequest } = info;
    const isSystem = user.name.startsWith('system:');
    for (const { result, rules } of this.#candidates) {
      for (const rule of rules) {
        if (rule.onlySystem && !isSystem) continue;
        const tests = isResourceRequest ? rule.resource : rule.path;
        if (tests.length === 0 || !rule.user(user)) continue;
        for (const test of tests) if (test(info)) return result;
      }
    }
    return undefined;
  }
}

const isOfSystem = (subject: FlowSubject): boolean =>
  subject.kind === 'ServiceAccount' || (subject.kind === 'User' && subject.name.startsWith('system:'));

function anyOf<T>(tests: readonly Test<T>[]): Test<T> {
  const [only] = tests;
  if (tests.length === 1 && only !== undefined) return only;
  return (value) => {
    for (const test of tests) if (test(value)) return true;
    return false;
  };
}

function subjectTest(subject: FlowSubject, cluster: string): Test<UserInfo> {
  const { name } = subject;
  switch (subject.kind) {
    case 'User':
      return name === '*' ? () => true : (user) => user.name === name;
    case 'Group':
      return name === '*' ? () => true : (user) => user.groups.includes(name);
    case 'ServiceAccount': {
      const prefix = `system:serviceaccount:${subject.namespace}:`;
      return (user) =>
        user.name.startsWith(prefix) && (name === '*' || user.name === prefix + name) && isOf(user, cluster);
    }
  }
}

/** Whether a service account is of the logical cluster; those of servers without logical clusters name none. */
function isOf({ extra }: UserInfo, cluster: string): boolean {
  const clusters = extra[clusterNameExtra];
  return clusters === undefined || clusters.every((name) => name === cluster);
}

function includes(values: readonly string[]): Test<string> {
  if (values.includes('*')) return () => true;
  const [only] = values;
  return values.length === 1 ? (value) => value === only : (value) => values.includes(value);
}

function resourceTest(rule: FlowResourceRule): Test<RequestInfo> {
  const [verb, group, namespace] = [includes(rule.verbs), includes(rule.apiGroups), includes(rule.namespaces)];
  const every = rule.resources.includes('*');
  const resource = includes(rule.resources);
  return (info) =>
    verb(info.verb) &&
    group(info.group) &&
    (every || resource(info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`)) &&
    (info.namespace === '' ? rule.clusterScope : namespace(info.namespace));
}

function pathTest(rule: FlowNonResourceRule): Test<RequestInfo> {
  const verb = includes(rule.verbs);
  const exact = includes(rule.nonResourceURLs);
  const prefixes = rule.nonResourceURLs.filter((url) => url.endsWith('/*')).map((url) => url.slice(0, -1));
  return ({ verb: method, path }) =>
    verb(method) && (exact(path) || prefixes.some((prefix) => path.startsWith(prefix)));
}

import { describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { contentEvaluators } from './quota-evaluators.ts';
import type { QuotaEvaluator } from './quota-evaluator.ts';
import { scopeRequirements } from './scope-requirements.ts';

const evaluator = (resource: string): QuotaEvaluator => contentEvaluators.get(resource) as QuotaEvaluator;
const object = (spec: JsonObject, status: JsonObject = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'X',
  metadata: { name: 'x' },
  spec,
  status,
});
const usage = (resource: string, spec: JsonObject, status?: JsonObject): JsonObject =>
  Object.fromEntries(
    [...evaluator(resource).usage(object(spec, status), 0)].map(([name, amount]) => [name, amount.toString()]),
  );
const container = (name: string, requests: JsonObject = {}, limits: JsonObject = {}): JsonObject => ({
  name,
  resources: { requests, limits },
});

/** Whether a pod or claim is in the scopes of a quota. */
function isInScope(resource: string, quota: JsonObject, spec: JsonObject, status?: JsonObject): boolean {
  return scopeRequirements(object(quota)).every((each) => evaluator(resource).matches(each, object(spec, status)));
}

describe('pods', () => {
  test('use what their containers need, or their init containers in turn beside the sidecars before them', () => {
    const spec = {
      containers: [container('a', { cpu: '1', memory: '1Gi' }, { cpu: '2' }), container('b', { cpu: '500m' })],
      initContainers: [
        { ...container('side', { cpu: '100m' }), restartPolicy: 'Always' },
        container('first', { cpu: '3', 'example.com/gpu': '2', 'hugepages-2Mi': '4Mi' }),
      ],
      overhead: { cpu: '50m', memory: '10Mi' },
    };
    expect(usage('pods', spec)).toEqual({
      'count/pods': '1',
      pods: '1',
      cpu: '3150m',
      'requests.cpu': '3150m',
      'limits.cpu': '2050m',
      memory: '1034Mi',
      'requests.memory': '1034Mi',
      'hugepages-2Mi': '4Mi',
      'requests.hugepages-2Mi': '4Mi',
      'requests.example.com/gpu': '2',
    });
  });

  test('use what the pod as a whole states, and the greater amount while they are resized', () => {
    const spec = { containers: [container('a', { cpu: '1', memory: '1Gi' })], resources: { requests: { cpu: '4' } } };
    const status = { containerStatuses: [{ name: 'a', resources: { requests: { memory: '2Gi' } } }] };
    expect(usage('pods', spec, status)).toMatchObject({ cpu: '4', memory: '2Gi' });
  });

  test.each(['Failed', 'Succeeded'])('that have %s count as objects only', (phase) => {
    expect(usage('pods', { containers: [container('a', { cpu: '1' })] }, { phase })).toEqual({ 'count/pods': '1' });
  });

  test('of any shape are counted without an error', () => {
    const odd = { containers: [3, { resources: 'x' }, container('a', { cpu: 'no number', memory: { a: 1 } })] };
    expect(usage('pods', odd as unknown as JsonObject)).toEqual({ 'count/pods': '1', pods: '1' });
  });

  test('have to state what a quota of CPU or memory limits, unless the pod as a whole does', () => {
    const limited = ['pods', 'requests.cpu', 'limits.memory', 'requests.storage'];
    const spec = { containers: [container('b'), container('a', { cpu: '1' })], initContainers: [container('i')] };
    const constraint = (more: JsonObject): string | undefined =>
      evaluator('pods').constraint?.(limited, object({ ...spec, ...more }));
    expect(constraint({})).toBe('must specify limits.memory for: a,b,i; requests.cpu for: b,i');
    expect(constraint({ resources: { limits: { cpu: '1' } } })).toBeUndefined();
  });

  const burstable = { containers: [container('a', { cpu: '1' })] };
  const remote = { requiredDuringSchedulingIgnoredDuringExecution: [{ namespaceSelector: {} }] };
  const local = {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: 'x' } }],
  };
  test.each([
    ['BestEffort', {}, true],
    ['BestEffort', burstable, false],
    ['BestEffort', { containers: [container('a', { cpu: '0' }, { memory: '0' })] }, true],
    ['NotBestEffort', burstable, true],
    ['NotBestEffort', { resources: { limits: { memory: '1' } } }, true],
    ['Terminating', { activeDeadlineSeconds: 0 }, true],
    ['Terminating', {}, false],
    ['NotTerminating', {}, true],
    ['PriorityClass', { priorityClassName: 'high' }, true],
    ['PriorityClass', {}, false],
    ['CrossNamespacePodAffinity', { affinity: { podAntiAffinity: remote } }, true],
    ['CrossNamespacePodAffinity', { affinity: { podAffinity: local } }, false],
    ['VolumeAttributesClass', {}, false],
  ] as const)('in the scope %s: %j %j', (scope, spec, expected) => {
    expect(isInScope('pods', { scopes: [scope] }, spec as unknown as JsonObject)).toBe(expected);
  });

  test.each([
    ['In', ['high', 'low'], 'high', true],
    ['In', ['high'], '', false],
    ['NotIn', ['high'], 'low', true],
    ['NotIn', ['high'], '', true],
    ['Exists', [], '', false],
    ['DoesNotExist', [], '', true],
  ])('with a selector of priority classes: %s %j %j', (operator, values, priorityClassName, expected) => {
    const scopeSelector = { matchExpressions: [{ scopeName: 'PriorityClass', operator, values }] };
    const spec = priorityClassName === '' ? {} : { priorityClassName };
    expect(isInScope('pods', { scopeSelector, scopes: ['NotTerminating'] }, spec)).toBe(expected);
  });
});

describe('claims', () => {
  test('use whole bytes, in all and of their storage class', () => {
    const spec = { storageClassName: 'fast', resources: { requests: { storage: '1500m' } } };
    expect(usage('persistentvolumeclaims', spec)).toEqual({
      persistentvolumeclaims: '1',
      'count/persistentvolumeclaims': '1',
      'fast.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
      'requests.storage': '2',
      'fast.storageclass.storage.k8s.io/requests.storage': '2',
    });
  });

  test('use what was allocated while that is more', () => {
    const spec = { resources: { requests: { storage: '1Gi' } } };
    expect(usage('persistentvolumeclaims', spec, { allocatedResources: { storage: '2Gi' } })).toMatchObject({
      'requests.storage': '2Gi',
    });
  });

  test('are in a scope by each class that they want or have', () => {
    const quota = {
      scopeSelector: { matchExpressions: [{ scopeName: 'VolumeAttributesClass', operator: 'In', values: ['gold'] }] },
    };
    const spec = { volumeAttributesClassName: 'silver' };
    expect(isInScope('persistentvolumeclaims', quota, spec)).toBe(false);
    expect(isInScope('persistentvolumeclaims', quota, spec, { currentVolumeAttributesClassName: 'gold' })).toBe(true);
  });
});

test.each([
  [{}, '0', '0'],
  [{ type: 'NodePort', ports: [{}, {}] }, '2', '0'],
  [{ type: 'LoadBalancer', ports: [{}, {}] }, '2', '1'],
  [{ type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports: [{ nodePort: 3 }, {}] }, '1', '1'],
])('a service %j uses its node ports and load balancers', (spec, nodePorts, loadBalancers) => {
  expect(usage('services', spec)).toMatchObject({
    services: '1',
    'services.nodeports': nodePorts,
    'services.loadbalancers': loadBalancers,
  });
});

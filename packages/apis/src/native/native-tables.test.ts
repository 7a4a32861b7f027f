import { describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { nativeTableOf } from './native-tables.ts';

const now = new Date('2026-01-02T03:04:05Z');
const minutesAgo = (minutes: number): string =>
  new Date(now.getTime() - minutes * 60_000).toISOString().replace('.000', '');

/** Kinds whose tables do not say how old an object is. */
const ageless = new Set(['PodTemplate', 'ComponentStatus', 'CSIStorageCapacity', 'IPAddress']);

/** Cells by the names of their columns, without name and age. */
function cells(
  apiVersion: string,
  kind: string,
  object: JsonObject,
  metadata: JsonObject = {},
): Record<string, unknown> {
  const [group, version] = apiVersion.includes('/') ? (apiVersion.split('/') as [string, string]) : ['', apiVersion];
  const table = nativeTableOf({ group, version, kind });
  if (table === undefined) throw new Error(`no table of ${kind}`);
  const whole = {
    kind,
    apiVersion,
    metadata: { name: 'x', creationTimestamp: minutesAgo(5), ...metadata },
    ...object,
  } as unknown as KubeObject;
  const values = table.cells(whole, now);
  expect(values).toHaveLength(table.columns.length);
  const result = Object.fromEntries(table.columns.map(({ name }, index) => [name, values[index]]));
  const { Name, Age, ...others } = result;
  expect([Name, Age]).toEqual(['x', ageless.has(kind) ? undefined : '5m']);
  return others;
}

describe('a pod says in one word what it does', () => {
  const container = (name: string, state: JsonObject, more: JsonObject = {}): JsonObject => ({ name, state, ...more });
  const pod = (status: JsonObject, spec: JsonObject = {}, metadata: JsonObject = {}): [string, unknown, unknown] => {
    const shown = cells(
      'v1',
      'Pod',
      { spec: { containers: [{ name: 'a' }, { name: 'b' }], ...spec }, status },
      metadata,
    );
    return [shown['Status'] as string, shown['Ready'], shown['Restarts']];
  };
  const running = { running: { startedAt: minutesAgo(1) } };
  const initSpecs = { initContainers: [{ name: 'i1' }, { name: 'i2' }] };

  test.each<[string, JsonObject, JsonObject, JsonObject, [string, string, string]]>([
    ['its phase', { phase: 'Pending' }, {}, {}, ['Pending', '0/2', '0']],
    ['the reason of its status', { phase: 'Failed', reason: 'Evicted' }, {}, {}, ['Evicted', '0/2', '0']],
    [
      'that it may not be scheduled yet',
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] },
      {},
      {},
      ['SchedulingGated', '0/2', '0'],
    ],
    [
      'why its first container waits',
      {
        phase: 'Running',
        containerStatuses: [
          container('a', { waiting: { reason: 'ImagePullBackOff' } }),
          container('b', running, { ready: true }),
        ],
      },
      {},
      {},
      ['ImagePullBackOff', '1/2', '0'],
    ],
    [
      'how a container ended, and when one did last',
      {
        phase: 'Running',
        containerStatuses: [
          container('a', running, {
            ready: true,
            restartCount: 2,
            lastState: { terminated: { finishedAt: minutesAgo(3) } },
          }),
          container('b', { terminated: { exitCode: 137, signal: 9 } }, { restartCount: 1 }),
        ],
      },
      {},
      {},
      ['Signal:9', '1/2', '3 (3m ago)'],
    ],
    [
      'that one ended well while another runs',
      {
        phase: 'Running',
        conditions: [{ type: 'Ready', status: 'True' }],
        containerStatuses: [
          container('a', { terminated: { exitCode: 0, reason: 'Completed' } }),
          container('b', running, { ready: true }),
        ],
      },
      {},
      {},
      ['Running', '1/2', '0'],
    ],
    [
      'how far its preparation is',
      {
        phase: 'Pending',
        initContainerStatuses: [container('i1', { terminated: { exitCode: 0 } }), container('i2', running)],
      },
      initSpecs,
      {},
      ['Init:1/2', '0/2', '0'],
    ],
    [
      'why its preparation failed',
      { phase: 'Pending', initContainerStatuses: [container('i1', { terminated: { exitCode: 3 } })] },
      initSpecs,
      {},
      ['Init:ExitCode:3', '0/2', '0'],
    ],
    [
      'its sidecars count',
      {
        phase: 'Running',
        initContainerStatuses: [container('i1', running, { started: true, ready: true, restartCount: 1 })],
        containerStatuses: [container('a', running, { ready: true }), container('b', running, { ready: true })],
      },
      { initContainers: [{ name: 'i1', restartPolicy: 'Always' }] },
      {},
      ['Running', '3/3', '1'],
    ],
    ['that it is going', { phase: 'Running' }, {}, { deletionTimestamp: minutesAgo(1) }, ['Terminating', '0/2', '0']],
  ])('%s', (_, status, spec, metadata, expected) => {
    expect(pod(status, spec, metadata)).toEqual(expected);
  });
});

describe('other kinds', () => {
  test.each<[string, string, JsonObject, Record<string, unknown>]>([
    [
      'v1',
      'Service',
      {
        spec: {
          type: 'LoadBalancer',
          clusterIP: '10.0.0.1',
          ports: [
            { port: 80, nodePort: 30080, protocol: 'TCP' },
            { port: 53, protocol: 'UDP' },
          ],
          selector: { b: '2', a: '1' },
        },
        status: { loadBalancer: { ingress: [{ hostname: 'lb.example.com' }] } },
      },
      {
        Type: 'LoadBalancer',
        'Cluster-IP': '10.0.0.1',
        'External-IP': 'lb.example.com',
        'Port(s)': '80:30080/TCP,53/UDP',
        Selector: 'a=1,b=2',
      },
    ],
    [
      'v1',
      'Node',
      {
        spec: { unschedulable: true },
        status: {
          conditions: [{ type: 'Ready', status: 'True' }],
          addresses: [{ type: 'InternalIP', address: '10.0.0.2' }],
          nodeInfo: { kubeletVersion: 'v1.36.0', osImage: 'Linux' },
        },
      },
      {
        Status: 'Ready,SchedulingDisabled',
        Roles: '<none>',
        Version: 'v1.36.0',
        'Internal-IP': '10.0.0.2',
        'External-IP': '<none>',
        'OS-Image': 'Linux',
        'Kernel-Version': '<unknown>',
        'Container-Runtime': '<unknown>',
      },
    ],
    [
      'v1',
      'PersistentVolumeClaim',
      {
        spec: { volumeName: 'pv', storageClassName: 'fast', volumeMode: 'Block' },
        status: { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteMany', 'ReadWriteOnce'] },
      },
      {
        Status: 'Bound',
        Volume: 'pv',
        Capacity: '1Gi',
        'Access Modes': 'RWO,RWX',
        StorageClass: 'fast',
        VolumeAttributesClass: '<unset>',
        VolumeMode: 'Block',
      },
    ],
    [
      'v1',
      'Endpoints',
      {
        subsets: [{ addresses: [{ ip: '1.1.1.1' }, { ip: '1.1.1.2' }], ports: [{ port: 80 }, { port: 443 }] }],
      },
      { Endpoints: '1.1.1.1:80,1.1.1.2:80,1.1.1.1:443 + 1 more...' },
    ],
    [
      'apps/v1',
      'DaemonSet',
      { spec: { selector: { matchLabels: { a: 'b' } } }, status: { desiredNumberScheduled: 3, numberReady: 2 } },
      {
        Desired: 3,
        Current: 0,
        Ready: 2,
        'Up-to-date': 0,
        Available: 0,
        'Node Selector': '<none>',
        Containers: '',
        Images: '',
        Selector: 'a=b',
      },
    ],
    [
      'batch/v1',
      'Job',
      {
        spec: { completions: 3 },
        status: {
          succeeded: 3,
          startTime: minutesAgo(4),
          completionTime: minutesAgo(2),
          conditions: [{ type: 'Complete', status: 'True' }],
        },
      },
      { Status: 'Complete', Completions: '3/3', Duration: '2m', Containers: '', Images: '', Selector: '<none>' },
    ],
    [
      'batch/v1',
      'CronJob',
      { spec: { schedule: '* * * * *', suspend: true }, status: { active: [{}], lastScheduleTime: minutesAgo(3) } },
      {
        Schedule: '* * * * *',
        Timezone: '<none>',
        Suspend: 'True',
        Active: 1,
        'Last Schedule': '3m',
        Containers: '',
        Images: '',
        Selector: '<none>',
      },
    ],
    [
      'networking.k8s.io/v1',
      'Ingress',
      {
        spec: {
          rules: ['a', 'b', 'c', 'd'].map((host) => ({ host })),
          tls: [{}],
        },
        status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } },
      },
      { Class: '<none>', Hosts: 'a,b,c + 1 more...', Address: '1.2.3.4', Ports: '80, 443' },
    ],
    [
      'autoscaling/v2',
      'HorizontalPodAutoscaler',
      {
        spec: {
          scaleTargetRef: { kind: 'Deployment', name: 'd' },
          maxReplicas: 5,
          metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 80 } } }],
        },
        status: { currentMetrics: [{ type: 'Resource', resource: { current: { averageUtilization: 30 } } }] },
      },
      { Reference: 'Deployment/d', Targets: 'cpu: 30%/80%', MinPods: '<unset>', MaxPods: 5, Replicas: 0 },
    ],
    [
      'policy/v1',
      'PodDisruptionBudget',
      { spec: { minAvailable: '50%' }, status: { disruptionsAllowed: 1 } },
      { 'Min Available': '50%', 'Max Unavailable': 'N/A', 'Allowed Disruptions': 1 },
    ],
    [
      'storage.k8s.io/v1',
      'CSIDriver',
      { spec: { tokenRequests: [{ audience: 'a' }, { audience: 'b' }], volumeLifecycleModes: ['Persistent'] } },
      {
        AttachRequired: true,
        PodInfoOnMount: false,
        StorageCapacity: false,
        TokenRequests: 'a,b',
        RequiresRepublish: false,
        Modes: 'Persistent',
      },
    ],
    [
      'storage.k8s.io/v1',
      'CSIDriver',
      { spec: { attachRequired: false, podInfoOnMount: true, storageCapacity: true, requiresRepublish: true } },
      {
        AttachRequired: false,
        PodInfoOnMount: true,
        StorageCapacity: true,
        TokenRequests: '<unset>',
        RequiresRepublish: true,
        Modes: '<none>',
      },
    ],
    ['storage.k8s.io/v1', 'CSINode', { spec: { drivers: [{ name: 'a' }, { name: 'b' }] } }, { Drivers: 2 }],
    [
      'storage.k8s.io/v1',
      'CSIStorageCapacity',
      { storageClassName: 'fast', capacity: '1Gi' },
      { StorageClassName: 'fast', Capacity: '1Gi' },
    ],
    ['storage.k8s.io/v1', 'CSIStorageCapacity', {}, { StorageClassName: '', Capacity: '<unset>' }],
    [
      'storage.k8s.io/v1',
      'VolumeAttachment',
      { spec: { attacher: 'd', nodeName: 'n', source: { persistentVolumeName: 'v' } }, status: { attached: true } },
      { Attacher: 'd', PV: 'v', Node: 'n', Attached: true },
    ],
    ['storage.k8s.io/v1', 'VolumeAttributesClass', { driverName: 'd' }, { DriverName: 'd' }],
    [
      'networking.k8s.io/v1',
      'IPAddress',
      { spec: { parentRef: { group: '', resource: 'services', namespace: 'default', name: 's' } } },
      { ParentRef: 'services/default/s' },
    ],
    [
      'networking.k8s.io/v1',
      'IPAddress',
      { spec: { parentRef: { group: 'Example.com', resource: 'things', name: 't' } } },
      { ParentRef: 'things.example.com/t' },
    ],
    [
      'networking.k8s.io/v1',
      'ServiceCIDR',
      { spec: { cidrs: ['10.0.0.0/8', 'fd00::/8'] } },
      { CIDRs: '10.0.0.0/8,fd00::/8' },
    ],
    [
      'v1',
      'ComponentStatus',
      { conditions: [{ type: 'Healthy', status: 'False', message: 'm', error: 'e' }] },
      { Status: 'Unhealthy', Message: 'm', Error: 'e' },
    ],
    ['v1', 'ComponentStatus', {}, { Status: 'Unknown', Message: '', Error: '' }],
  ])('%s %s', (apiVersion, kind, object, expected) => {
    expect(cells(apiVersion, kind, object)).toEqual(expected);
  });

  test('the default class is marked', () => {
    const table = nativeTableOf({ group: 'storage.k8s.io', version: 'v1', kind: 'StorageClass' });
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    const object = { metadata: { name: 'fast', annotations }, provisioner: 'p' } as unknown as KubeObject;
    expect(table?.cells(object, now).slice(0, 4)).toEqual(['fast (default)', 'p', 'Delete', 'Immediate']);
  });

  test('whatever an object holds, its row can be written', () => {
    for (const kind of ['Pod', 'Service', 'Node', 'Endpoints', 'PersistentVolume', 'PodTemplate']) {
      const odd = { spec: 'text', status: [1], subsets: {}, template: 5 };
      expect(() => cells('v1', kind, odd)).not.toThrow();
    }
  });

  test('an unknown kind has none', () => {
    expect(nativeTableOf({ group: 'example.com', version: 'v1', kind: 'Pod' })).toBeUndefined();
  });
});

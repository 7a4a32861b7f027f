import type { JsonObject } from '@multiplane/apimachinery';
import type { APIConversion, APIResourceSchema } from '../kcp/api-sharing.ts';
import { contentNamedSchema, rootExport, type RootExport } from '../kcp/root-export.ts';
import { protobufMessageName } from '../schemas/protobuf-messages.ts';
import { nativeSchema } from './native-schema.ts';

/** A kind of Kubernetes that the workspaces of Multiplane do not have by themselves. */
interface ExportedKind {
  readonly plural: string;
  readonly kind: string;
  readonly short?: string;
  readonly cluster?: true;
  /** `kubectl get all` lists it. */
  readonly all?: true;
  readonly status?: true;
  readonly scale?: true;
  /** An older version, which is served beside the stored one. */
  readonly older?: OlderVersion;
}

interface OlderVersion {
  readonly version: string;
  /** By parent: fields that only the stored version has. The older one keeps them, so its clients do not lose them. */
  readonly kept: Readonly<Record<string, readonly string[]>>;
  readonly conversions: NonNullable<NonNullable<APIConversion['spec']>['conversions']>;
}

/** The battery that creates the exports. */
export const nativeKindsBattery = 'native-kinds';

const isCpu = (metric: string, value: string): string =>
  `${metric}.type == 'Resource' && has(${metric}.resource) && ${metric}.resource.name == 'cpu' && has(${metric}.resource.${value}.averageUtilization)`;
const cpuOf = (value: string): string =>
  `self.exists(m, ${isCpu('m', value)}) ? dyn(self.filter(m, ${isCpu('m', value)})[0].resource.${value}.averageUtilization) : dyn(null)`;

/** `autoscaling/v1` has one number where v2 has a list of metrics. */
const autoscalingV1: OlderVersion = {
  version: 'v1',
  kept: { spec: ['behavior', 'metrics'], status: ['conditions', 'currentMetrics'] },
  conversions: [
    {
      from: 'v1',
      to: 'v2',
      rules: [
        {
          field: '.spec',
          destination: '.spec.metrics',
          transformation: `dyn(has(self.targetCPUUtilizationPercentage) ? [{'type': dyn('Resource'), 'resource': dyn({'name': dyn('cpu'), 'target': dyn({'type': dyn('Utilization'), 'averageUtilization': dyn(self.targetCPUUtilizationPercentage)})})}] : []) + dyn(has(self.metrics) ? self.metrics.filter(m, !(${isCpu('m', 'target')})) : [])`,
        },
      ],
    },
    {
      from: 'v2',
      to: 'v1',
      rules: [
        {
          field: '.spec.metrics',
          destination: '.spec.targetCPUUtilizationPercentage',
          transformation: cpuOf('target'),
        },
        {
          field: '.status.currentMetrics',
          destination: '.status.currentCPUUtilizationPercentage',
          transformation: cpuOf('current'),
        },
      ],
    },
  ],
};

/** Kinds by API group and version, as kube-apiserver 1.36 serves them. */
const groups: Readonly<Record<string, { readonly version: string; readonly kinds: readonly ExportedKind[] }>> = {
  core: {
    version: 'v1',
    kinds: [
      { plural: 'endpoints', kind: 'Endpoints', short: 'ep' },
      { plural: 'nodes', kind: 'Node', short: 'no', cluster: true, status: true },
      { plural: 'persistentvolumeclaims', kind: 'PersistentVolumeClaim', short: 'pvc', status: true },
      { plural: 'persistentvolumes', kind: 'PersistentVolume', short: 'pv', cluster: true, status: true },
      { plural: 'pods', kind: 'Pod', short: 'po', all: true, status: true },
      { plural: 'podtemplates', kind: 'PodTemplate' },
      {
        plural: 'replicationcontrollers',
        kind: 'ReplicationController',
        short: 'rc',
        all: true,
        status: true,
        scale: true,
      },
      { plural: 'services', kind: 'Service', short: 'svc', all: true, status: true },
    ],
  },
  apps: {
    version: 'v1',
    kinds: [
      { plural: 'controllerrevisions', kind: 'ControllerRevision' },
      { plural: 'daemonsets', kind: 'DaemonSet', short: 'ds', all: true, status: true },
      { plural: 'deployments', kind: 'Deployment', short: 'deploy', all: true, status: true, scale: true },
      { plural: 'replicasets', kind: 'ReplicaSet', short: 'rs', all: true, status: true, scale: true },
      { plural: 'statefulsets', kind: 'StatefulSet', short: 'sts', all: true, status: true, scale: true },
    ],
  },
  autoscaling: {
    version: 'v2',
    kinds: [
      {
        plural: 'horizontalpodautoscalers',
        kind: 'HorizontalPodAutoscaler',
        short: 'hpa',
        all: true,
        status: true,
        older: autoscalingV1,
      },
    ],
  },
  batch: {
    version: 'v1',
    kinds: [
      { plural: 'cronjobs', kind: 'CronJob', short: 'cj', all: true, status: true },
      { plural: 'jobs', kind: 'Job', all: true, status: true },
    ],
  },
  'discovery.k8s.io': { version: 'v1', kinds: [{ plural: 'endpointslices', kind: 'EndpointSlice' }] },
  'networking.k8s.io': {
    version: 'v1',
    kinds: [
      { plural: 'ingressclasses', kind: 'IngressClass', cluster: true },
      { plural: 'ingresses', kind: 'Ingress', short: 'ing', status: true },
      { plural: 'ipaddresses', kind: 'IPAddress', short: 'ip', cluster: true },
      { plural: 'networkpolicies', kind: 'NetworkPolicy', short: 'netpol' },
      { plural: 'servicecidrs', kind: 'ServiceCIDR', cluster: true, status: true },
    ],
  },
  'node.k8s.io': { version: 'v1', kinds: [{ plural: 'runtimeclasses', kind: 'RuntimeClass', cluster: true }] },
  policy: {
    version: 'v1',
    kinds: [{ plural: 'poddisruptionbudgets', kind: 'PodDisruptionBudget', short: 'pdb', status: true }],
  },
  'scheduling.k8s.io': {
    version: 'v1',
    kinds: [{ plural: 'priorityclasses', kind: 'PriorityClass', short: 'pc', cluster: true }],
  },
  'storage.k8s.io': {
    version: 'v1',
    kinds: [
      { plural: 'csidrivers', kind: 'CSIDriver', cluster: true },
      { plural: 'csinodes', kind: 'CSINode', cluster: true },
      { plural: 'csistoragecapacities', kind: 'CSIStorageCapacity' },
      { plural: 'storageclasses', kind: 'StorageClass', short: 'sc', cluster: true },
      { plural: 'volumeattachments', kind: 'VolumeAttachment', cluster: true, status: true },
      { plural: 'volumeattributesclasses', kind: 'VolumeAttributesClass', short: 'vac', cluster: true },
    ],
  },
};

/** Names of the exports: those of the API groups, `core` for the group without a name. */
export const nativeExportNames: readonly string[] = Object.keys(groups);

/**
 * Exports of root that offer Kubernetes' own kinds, one for each API group. What their objects are is the business of those who
 * bind them: no controller of Multiplane acts on them.
 */
export function* nativeExports(): Generator<RootExport & { readonly conversions: readonly APIConversion[] }> {
  const known = new Map<string, JsonObject>();
  for (const [name, { version, kinds }] of Object.entries(groups)) {
    const group = name === 'core' ? '' : name;
    const schemas = kinds.map((kind) => schemaOf(group, version, kind, known));
    yield {
      ...rootExport({ name, group, schemas, hasPolicy: false }),
      feature: undefined,
      conversions: kinds.flatMap(({ older }, index) =>
        older === undefined ? [] : [conversionOf(schemas[index] as APIResourceSchema, older)],
      ),
    };
  }
}

/** Definitions of Kubernetes' groups need a reason to be there. */
const approval = { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/tree/release-1.36/api' };

function schemaOf(
  group: string,
  version: string,
  exported: ExportedKind,
  known: Map<string, JsonObject>,
): APIResourceSchema {
  const { plural, kind, short, cluster, all, status, scale, older } = exported;
  const schemaIn = (name: string): JsonObject => {
    const message = protobufMessageName(group === '' ? name : `${group}/${name}`, kind);
    if (message === undefined) throw new TypeError(`Kubernetes has no message for ${kind}`);
    return nativeSchema(message, known);
  };
  const schema = schemaIn(version);
  const subresources: JsonObject = {
    ...(status === true ? { status: {} } : {}),
    ...(scale === true
      ? { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } }
      : {}),
  };
  const spec = {
    group,
    names: {
      plural,
      singular: kind.toLowerCase(),
      kind,
      listKind: `${kind}List`,
      ...(short === undefined ? {} : { shortNames: [short] }),
      ...(all === true ? { categories: ['all'] } : {}),
    },
    scope: cluster === true ? 'Cluster' : 'Namespaced',
    ...(older === undefined ? {} : { conversion: { strategy: 'None' } }),
    versions: [
      { name: version, served: true, storage: true, schema },
      ...(older === undefined
        ? []
        : [
            {
              name: older.version,
              served: true,
              storage: false,
              schema: withKept(schemaIn(older.version), schema, older.kept),
            },
          ]),
    ].map((each) => ({ ...each, ...(Object.keys(subresources).length === 0 ? {} : { subresources }) })),
  } as unknown as NonNullable<APIResourceSchema['spec']>;
  return contentNamedSchema('v136', spec, group.endsWith('.k8s.io') ? approval : undefined);
}

/** The schema of an older version with the fields that it keeps. */
function withKept(schema: JsonObject, stored: JsonObject, kept: OlderVersion['kept']): JsonObject {
  const propertiesOf = (value: unknown): JsonObject => (value as { readonly properties: JsonObject }).properties;
  const parents = Object.entries(kept).map(([parent, names]): [string, JsonObject] => {
    const [own, other] = [propertiesOf(schema)[parent] as JsonObject, propertiesOf(propertiesOf(stored)[parent])];
    const more = Object.fromEntries(names.map((name) => [name, other[name] ?? null]));
    return [parent, { ...own, properties: { ...propertiesOf(own), ...more } }];
  });
  return { ...schema, properties: { ...propertiesOf(schema), ...Object.fromEntries(parents) } };
}

const conversionOf = ({ metadata }: APIResourceSchema, { conversions }: OlderVersion): APIConversion => ({
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIConversion',
  metadata: { name: metadata.name ?? '' },
  spec: { conversions: [...conversions] },
});

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const fixtures = join(import.meta.dirname, '..', '..', 'e2e', 'fixtures', 'chart-kinds');

/** Kinds that the fixtures lack; without a schema. */
const open: readonly (readonly [
  group: string,
  plural: string,
  kind: string,
  more?: { cluster?: true; scale?: true },
])[] = [
  ['', 'nodes', 'Node', { cluster: true }],
  ['', 'endpoints', 'Endpoints'],
  ['', 'replicationcontrollers', 'ReplicationController', { scale: true }],
  ['', 'persistentvolumeclaims', 'PersistentVolumeClaim'],
  ['', 'persistentvolumes', 'PersistentVolume', { cluster: true }],
  ['', 'podtemplates', 'PodTemplate'],
  ['apps', 'replicasets', 'ReplicaSet', { scale: true }],
  ['apps', 'daemonsets', 'DaemonSet'],
  ['apps', 'controllerrevisions', 'ControllerRevision'],
  ['batch', 'jobs', 'Job'],
  ['batch', 'cronjobs', 'CronJob'],
  ['scheduling.k8s.io', 'priorityclasses', 'PriorityClass', { cluster: true }],
  ['storage.k8s.io', 'storageclasses', 'StorageClass', { cluster: true }],
  ['storage.k8s.io', 'volumeattributesclasses', 'VolumeAttributesClass', { cluster: true }],
  ['resource.k8s.io', 'resourceclaims', 'ResourceClaim'],
  ['resource.k8s.io', 'deviceclasses', 'DeviceClass', { cluster: true }],
];

const approval = { 'api-approved.kubernetes.io': 'unapproved, for tests' };

/** CustomResourceDefinitions of the kinds of Kubernetes that its end-to-end tests use and a workspace does not have. */
export function nativeKinds(): object[] {
  const typed = readdirSync(fixtures)
    .filter((file) => !/^(routes|servicemonitors)\./.test(file))
    .map((file) => JSON.parse(readFileSync(join(fixtures, file), 'utf8')) as { metadata: object })
    .map((definition) => ({ ...definition, metadata: { ...definition.metadata, annotations: approval } }));
  return [...typed, ...open.map((kind) => definition(...kind))];
}

function definition(
  group: string,
  plural: string,
  kind: string,
  { cluster, scale }: { cluster?: true; scale?: true } = {},
): object {
  const replicas = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group === '' ? 'core' : group}`, annotations: approval },
    spec: {
      group,
      scope: cluster === undefined ? 'Namespaced' : 'Cluster',
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {}, ...(scale === undefined ? {} : { scale: replicas }) },
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };
}

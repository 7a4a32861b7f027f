import { apiVersionOf, type GroupVersionKind } from '@multiplane/apimachinery';
import type { TableConvertor } from '../table-convertor.ts';
import {
  endpointSliceTable,
  endpointsTable,
  ingressClassTable,
  ingressTable,
  ipAddressTable,
  networkPolicyTable,
  serviceCidrTable,
  serviceTable,
} from './network-tables.ts';
import { componentStatusTable, controllerRevisionTable, nodeTable, podTable, podTemplateTable } from './pod-table.ts';
import {
  csiDriverTable,
  csiNodeTable,
  csiStorageCapacityTable,
  persistentVolumeClaimTable,
  persistentVolumeTable,
  priorityClassTable,
  runtimeClassTable,
  storageClassTable,
  volumeAttachmentTable,
  volumeAttributesClassTable,
} from './storage-tables.ts';
import {
  cronJobTable,
  daemonSetTable,
  deploymentTable,
  horizontalPodAutoscalerTable,
  jobTable,
  podDisruptionBudgetTable,
  replicaSetTable,
  replicationControllerTable,
  statefulSetTable,
} from './workload-tables.ts';

const tables: ReadonlyMap<string, TableConvertor> = new Map([
  ['v1/ComponentStatus', componentStatusTable],
  ['v1/Endpoints', endpointsTable],
  ['v1/Node', nodeTable],
  ['v1/PersistentVolume', persistentVolumeTable],
  ['v1/PersistentVolumeClaim', persistentVolumeClaimTable],
  ['v1/Pod', podTable],
  ['v1/PodTemplate', podTemplateTable],
  ['v1/ReplicationController', replicationControllerTable],
  ['v1/Service', serviceTable],
  ['apps/v1/ControllerRevision', controllerRevisionTable],
  ['apps/v1/DaemonSet', daemonSetTable],
  ['apps/v1/Deployment', deploymentTable],
  ['apps/v1/ReplicaSet', replicaSetTable],
  ['apps/v1/StatefulSet', statefulSetTable],
  ['autoscaling/v1/HorizontalPodAutoscaler', horizontalPodAutoscalerTable],
  ['autoscaling/v2/HorizontalPodAutoscaler', horizontalPodAutoscalerTable],
  ['batch/v1/CronJob', cronJobTable],
  ['batch/v1/Job', jobTable],
  ['discovery.k8s.io/v1/EndpointSlice', endpointSliceTable],
  ['networking.k8s.io/v1/IPAddress', ipAddressTable],
  ['networking.k8s.io/v1/Ingress', ingressTable],
  ['networking.k8s.io/v1/IngressClass', ingressClassTable],
  ['networking.k8s.io/v1/NetworkPolicy', networkPolicyTable],
  ['networking.k8s.io/v1/ServiceCIDR', serviceCidrTable],
  ['node.k8s.io/v1/RuntimeClass', runtimeClassTable],
  ['policy/v1/PodDisruptionBudget', podDisruptionBudgetTable],
  ['scheduling.k8s.io/v1/PriorityClass', priorityClassTable],
  ['storage.k8s.io/v1/CSIDriver', csiDriverTable],
  ['storage.k8s.io/v1/CSINode', csiNodeTable],
  ['storage.k8s.io/v1/CSIStorageCapacity', csiStorageCapacityTable],
  ['storage.k8s.io/v1/StorageClass', storageClassTable],
  ['storage.k8s.io/v1/VolumeAttachment', volumeAttachmentTable],
  ['storage.k8s.io/v1/VolumeAttributesClass', volumeAttributesClassTable],
]);

/** The table that Kubernetes shows of one of its kinds; undefined where it has none worth more than a definition's own. */
export function nativeTableOf(kind: GroupVersionKind): TableConvertor | undefined {
  return tables.get(`${apiVersionOf(kind)}/${kind.kind}`);
}

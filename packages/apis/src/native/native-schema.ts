import type { JsonObject } from '@multiplane/apimachinery';
import { protobufKinds } from '../schemas/protobuf-fields.data.ts';
import { fieldFactsOf, isPlainMessage, type FieldFacts } from '../schemas/protobuf-messages.ts';

/**
 * The structural schema of one of Kubernetes' own kinds, made of the table of its messages: properties, types and formats, what is
 * required, and Kubernetes' published defaults. It declares no list types: server-side apply takes them from the same table, and a
 * declaration would refuse items with the same key, which Kubernetes accepts. What Kubernetes' decoder takes for absent may be null.
 * `known`: schemas of messages, which several kinds share. Throws a TypeError for a message that the table does not have.
 */
export function nativeSchema(message: string, known: Map<string, JsonObject> = new Map()): JsonObject {
  const { metadata: _implied, ...properties } = propertiesOf(message, known);
  const needed = requiredOf(message).filter((name) => name !== 'metadata');
  return {
    type: 'object',
    properties: { apiVersion: text, kind: text, metadata: { type: 'object' }, ...properties },
    ...(needed.length === 0 ? {} : { required: needed }),
  };
}

const text: JsonObject = { type: 'string' };
const preserved: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const intOrString: JsonObject = {
  anyOf: [{ type: 'integer' }, { type: 'string' }],
  'x-kubernetes-int-or-string': true,
};

/** The types whose JSON is no object of their fields. */
const values: Readonly<Record<string, JsonObject>> = {
  string: text,
  bytes: { type: 'string', format: 'byte' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  'intstr.IntOrString': intOrString,
  'resource.Quantity': intOrString,
  'meta.v1.Time': { type: 'string', format: 'date-time' },
  'meta.v1.MicroTime': { type: 'string', format: 'date-time' },
  'meta.v1.FieldsV1': preserved,
  'runtime.RawExtension': preserved,
};

/** Messages that are objects on their own, too: inside of another, they may say what they are. */
const kinds: ReadonlySet<string> = new Set(Object.values(protobufKinds));

/** Fields that Go always writes, and that Kubernetes does not require. */
const optional: ReadonlySet<string> = new Set([
  'apps.v1.ControllerRevision.data',
  'apps.v1.StatefulSetOrdinals.start',
  'apps.v1.StatefulSetSpec.serviceName',
  'apps.v1.StatefulSetStatus.availableReplicas',
  'autoscaling.v2.HorizontalPodAutoscalerStatus.currentMetrics',
  'batch.v1.PodFailurePolicyOnPodConditionsPattern.status',
  'core.v1.AzureFilePersistentVolumeSource.secretNamespace',
  'core.v1.ContainerImage.names',
  'core.v1.GRPCAction.service',
  'core.v1.NodeRuntimeHandler.name',
  'core.v1.ProjectedVolumeSource.sources',
  'core.v1.TypedLocalObjectReference.apiGroup',
  'core.v1.TypedObjectReference.apiGroup',
  'discovery.v1.EndpointSlice.ports',
  'networking.v1.IngressClassParametersReference.scope',
  'networking.v1.NetworkPolicySpec.podSelector',
]);

/** Fields that Go leaves out where they are empty, and that Kubernetes requires. */
const required: ReadonlySet<string> = new Set([
  'autoscaling.v2.HorizontalPodAutoscaler.spec',
  'batch.v1.CronJob.spec',
  'core.v1.ContainerRestartRule.action',
  'core.v1.ContainerRestartRuleOnExitCodes.operator',
  'core.v1.PodCertificateProjection.keyType',
  'core.v1.PodCertificateProjection.signerName',
  'networking.v1.IPAddress.spec',
  'networking.v1.IPAddressSpec.parentRef',
  'networking.v1.ParentReference.name',
  'networking.v1.ParentReference.resource',
]);

/** The defaults that Kubernetes publishes; those that its code computes are not among them. */
const defaults: Readonly<Record<string, string | number>> = {
  'core.v1.AzureDiskVolumeSource.cachingMode': 'ReadWrite',
  'core.v1.AzureDiskVolumeSource.fsType': 'ext4',
  'core.v1.AzureDiskVolumeSource.kind': 'Shared',
  'core.v1.ContainerPort.protocol': 'TCP',
  'core.v1.ISCSIPersistentVolumeSource.iscsiInterface': 'default',
  'core.v1.ISCSIVolumeSource.iscsiInterface': 'default',
  'core.v1.RBDPersistentVolumeSource.keyring': '/etc/ceph/keyring',
  'core.v1.RBDPersistentVolumeSource.pool': 'rbd',
  'core.v1.RBDPersistentVolumeSource.user': 'admin',
  'core.v1.RBDVolumeSource.keyring': '/etc/ceph/keyring',
  'core.v1.RBDVolumeSource.pool': 'rbd',
  'core.v1.RBDVolumeSource.user': 'admin',
  'core.v1.ReplicationControllerSpec.replicas': 1,
  'core.v1.ScaleIOPersistentVolumeSource.fsType': 'xfs',
  'core.v1.ScaleIOPersistentVolumeSource.storageMode': 'ThinProvisioned',
  'core.v1.ScaleIOVolumeSource.fsType': 'xfs',
  'core.v1.ScaleIOVolumeSource.storageMode': 'ThinProvisioned',
  'core.v1.ServicePort.protocol': 'TCP',
};

interface NamedField extends FieldFacts {
  /** `<message>.<field>`. */
  readonly path: string;
}

/** The fields of a message, with those of the structs that it embeds. */
function* fieldsOf(message: string): Generator<NamedField> {
  for (const facts of fieldFactsOf(message)) {
    if (facts.shape === 'inlined') yield* fieldsOf(facts.type);
    else yield { ...facts, path: `${message}.${facts.name}` };
  }
}

const isRequired = ({ omitted, path }: NamedField): boolean => (!omitted && !optional.has(path)) || required.has(path);

const requiredOf = (message: string): string[] => [...fieldsOf(message)].filter(isRequired).map(({ name }) => name);

type KnownSchemas = Map<string, JsonObject>;

const propertiesOf = (message: string, known: KnownSchemas): Record<string, JsonObject> =>
  Object.fromEntries([...fieldsOf(message)].map((field) => [field.name, fieldSchema(field, known)]));

function fieldSchema(field: NamedField, known: KnownSchemas): JsonObject {
  const schema = shaped(field, known);
  const value = defaults[field.path];
  if (value !== undefined) return { ...schema, default: value };
  return isRequired(field) ? schema : { ...schema, nullable: true };
}

function shaped({ shape, type }: NamedField, known: KnownSchemas): JsonObject {
  const value = values[type] ?? known.get(type) ?? messageSchema(type, known);
  if (shape === 'repeated') return { type: 'array', items: value };
  return shape === 'map' ? { type: 'object', additionalProperties: value } : value;
}

/** None of the kinds holds itself, so this comes to an end. */
function messageSchema(type: string, known: KnownSchemas): JsonObject {
  if (!isPlainMessage(type)) throw new TypeError(`no schema for ${type}`);
  const needed = requiredOf(type);
  const schema = {
    type: 'object',
    properties: { ...(kinds.has(type) ? { apiVersion: text, kind: text } : {}), ...propertiesOf(type, known) },
    ...(needed.length === 0 ? {} : { required: needed }),
  };
  known.set(type, schema);
  return schema;
}

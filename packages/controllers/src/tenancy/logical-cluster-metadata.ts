import { hexSha224, type DeepReadonly, type ObjectMeta } from '@multiplane/apimachinery';
import { ownerAnnotation, phaseLabel, shardAnnotation, terminatorsFinalizer, type LogicalCluster } from './kinds.ts';
import { redactedOwner } from './owner-annotation.ts';

/** Key and value of the label for a remaining initializer or terminator; the key is the hash cut to 63 characters. */
function lifecycleLabel(noun: 'initializer' | 'terminator', id: string): [key: string, value: string] {
  const prefix = `${noun}.internal.kcp.io/`;
  const hash = hexSha224(id);
  return [`${prefix}${hash.slice(0, 63 - prefix.length)}`, hash];
}

/** Whether a label selects logical clusters for the controllers of workspace types. Only the system may set it. */
export const isLifecycleLabel = (key: string): boolean => /^(initializer|terminator)\.internal\.kcp\.io\//.test(key);

/**
 * The changes of a LogicalCluster's metadata that its status requires (kcp:
 * pkg/reconciler/core/logicalcluster/logicalcluster_reconcile_metadata.go): labels of phase, initializers and terminators,
 * the finalizer for terminators, the annotation of the shard, and, once Ready, the owner without groups. Undefined if there
 * are none.
 */
export function metadataFor(object: DeepReadonly<LogicalCluster>, shardName: string): Partial<ObjectMeta> | undefined {
  const { metadata, status } = object;
  const { labels = {}, finalizers = [], annotations = {} } = metadata;
  const phase = status?.phase ?? 'Scheduling';
  const wantedLabels: Record<string, string> = {
    ...Object.fromEntries(Object.entries(labels).filter(([key]) => !isLifecycleLabel(key))),
    [phaseLabel]: phase,
    ...Object.fromEntries((status?.initializers ?? []).map((id) => lifecycleLabel('initializer', id))),
    ...Object.fromEntries((status?.terminators ?? []).map((id) => lifecycleLabel('terminator', id))),
  };
  const hasTerminators = (status?.terminators ?? []).length > 0;
  const others = finalizers.filter((name) => name !== terminatorsFinalizer);
  // The API server refuses new finalizers on an object that is being deleted.
  const needsFinalizer =
    hasTerminators && (finalizers.includes(terminatorsFinalizer) || metadata.deletionTimestamp === undefined);
  const wantedFinalizers = needsFinalizer ? [...others, terminatorsFinalizer] : others;
  const owner = annotations[ownerAnnotation];
  const redacted = owner !== undefined && phase === 'Ready' ? redactedOwner(owner) : undefined;
  const changes = {
    ...(redacted === undefined || redacted === owner ? {} : { [ownerAnnotation]: redacted }),
    ...(annotations[shardAnnotation] === shardName ? {} : { [shardAnnotation]: shardName }),
  };
  const change: Partial<ObjectMeta> = {
    ...(sameLabels(labels, wantedLabels) ? {} : { labels: wantedLabels }),
    ...(finalizers.length === wantedFinalizers.length ? {} : { finalizers: wantedFinalizers }),
    ...(Object.keys(changes).length === 0 ? {} : { annotations: { ...annotations, ...changes } }),
  };
  return Object.keys(change).length === 0 ? undefined : change;
}

function sameLabels(have: Readonly<Record<string, string>>, want: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(want);
  return keys.length === Object.keys(have).length && keys.every((key) => have[key] === want[key]);
}

import { hexSha224, isJsonObject, parseJson, type DeepReadonly, type ObjectMeta } from '@multiplane/apimachinery';
import { ownerAnnotation, phaseLabel, shardAnnotation, terminatorsFinalizer, type LogicalCluster } from './kinds.ts';

/** A label for an initializer or terminator that somebody still has to remove: key and value (C1.2). */
function waitLabel(noun: 'initializer' | 'terminator', id: string): [key: string, value: string] {
  const prefix = `${noun}.internal.kcp.io/`;
  const hash = hexSha224(id);
  return [`${prefix}${hash.slice(0, 63 - prefix.length)}`, hash];
}

/** A label by which controllers of types find what waits for them; the system alone sets it. */
export const isWaitLabel = (key: string): boolean => /^(initializer|terminator)\.internal\.kcp\.io\//.test(key);

/**
 * What follows from the status of a LogicalCluster for its metadata (C5.8): labels by which controllers of workspace
 * types find it, the finalizer that holds it for terminators, the shard it is on, and, once it is Ready, no more of its
 * owner than the name.
 * Undefined: nothing has to change.
 */
export function metadataFor(object: DeepReadonly<LogicalCluster>, shardName: string): Partial<ObjectMeta> | undefined {
  const { metadata, status } = object;
  const { labels = {}, finalizers = [], annotations = {} } = metadata;
  const phase = status?.phase ?? 'Scheduling';
  const wantedLabels: Record<string, string> = {
    ...Object.fromEntries(Object.entries(labels).filter(([key]) => !isWaitLabel(key))),
    [phaseLabel]: phase,
    ...Object.fromEntries((status?.initializers ?? []).map((id) => waitLabel('initializer', id))),
    ...Object.fromEntries((status?.terminators ?? []).map((id) => waitLabel('terminator', id))),
  };
  const held = (status?.terminators ?? []).length > 0;
  const others = finalizers.filter((name) => name !== terminatorsFinalizer);
  // While it is being deleted no finalizer may come back.
  const hold = held && (finalizers.includes(terminatorsFinalizer) || metadata.deletionTimestamp === undefined);
  const wantedFinalizers = hold ? [...others, terminatorsFinalizer] : others;
  const owner = phase === 'Ready' ? shortOwner(annotations[ownerAnnotation]) : undefined;
  const changes = {
    ...(owner === undefined ? {} : { [ownerAnnotation]: owner }),
    ...(annotations[shardAnnotation] === shardName ? {} : { [shardAnnotation]: shardName }),
  };
  const change: Partial<ObjectMeta> = {
    ...(sameLabels(labels, wantedLabels) ? {} : { labels: wantedLabels }),
    ...(finalizers.length === wantedFinalizers.length ? {} : { finalizers: wantedFinalizers }),
    ...(Object.keys(changes).length === 0 ? {} : { annotations: { ...annotations, ...changes } }),
  };
  return Object.keys(change).length === 0 ? undefined : change;
}

/** The owner without groups and the rest; undefined when there is nothing to leave out. */
function shortOwner(annotation: string | undefined): string | undefined {
  if (annotation === undefined) return undefined;
  let owner: unknown;
  try {
    owner = parseJson(annotation);
  } catch {
    return undefined;
  }
  if (!isJsonObject(owner) || typeof owner['username'] !== 'string') return undefined;
  const short = JSON.stringify({ username: owner['username'] });
  return short === annotation ? undefined : short;
}

function sameLabels(have: Readonly<Record<string, string>>, want: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(want);
  return keys.length === Object.keys(have).length && keys.every((key) => have[key] === want[key]);
}

declare const logicalClusterName: unique symbol;

/**
 * The name of one logical cluster: a single segment such as `root`, `2k9xrzqvmhpvhbj8` or `system:admin`. Storage keys
 * and caches take only this type, never a path: a path-shaped name in a key would leak rows between tenants
 * (kcp#4011). Make one with {@link logicalClusterName}.
 */
export type LogicalClusterName = string & { readonly [logicalClusterName]: true };

/** `*`: all logical clusters of a shard (LIST and WATCH only). */
export const wildcardCluster = '*';

/** Annotation that names the logical cluster on every object a server hands out. */
export const clusterAnnotation = 'kcp.io/cluster';
/** Annotation that names the shard on every object that a cache server hands out. */
export const shardNameAnnotation = 'kcp.io/shard';
/** Annotation with the canonical path of a logical cluster. */
export const pathAnnotation = 'kcp.io/path';

const nameSegment = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const pathPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const maxNameLength = 63;

/** True for a legal name: one lower-case DNS label, or `system:` and one. Never `*`, never a path. */
export function isLogicalClusterName(text: string): text is LogicalClusterName {
  const label = text.startsWith('system:') ? text.slice('system:'.length) : text;
  return label.length > 0 && label.length <= maxNameLength && nameSegment.test(label);
}

/** The checked name. Throws a TypeError for anything else; callers on the edge test with {@link isLogicalClusterName}. */
export function asLogicalClusterName(text: string): LogicalClusterName {
  if (!isLogicalClusterName(text)) throw new TypeError(`not a logical cluster name: ${JSON.stringify(text)}`);
  return text;
}

/** True for `root`, `root:org:team`, `system:admin`; each segment a DNS label. */
export function isLogicalClusterPath(text: string): boolean {
  return (
    text.length <= 1024 && pathPattern.test(text) && text.split(':').every((segment) => segment.length <= maxNameLength)
  );
}

/** `root:a:b` → [`root:a`, `b`]; `root` → undefined. */
export function splitPath(path: string): { parent: string; name: string } | undefined {
  const colon = path.lastIndexOf(':');
  return colon < 0 ? undefined : { parent: path.slice(0, colon), name: path.slice(colon + 1) };
}

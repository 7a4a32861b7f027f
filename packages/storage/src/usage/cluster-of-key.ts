import { customResourcesSegment, registryPrefix } from '../keys.ts';

/** Length of an identity hash (SHA-256 in hex). */
const identityLength = 64;

/** Where a key belongs; see the layout in keys.ts. */
export interface KeyOwner {
  /** `<group or core>/<resource>` */
  readonly resource: string;
  readonly cluster: string;
}

/**
 * The logical cluster and the resource of a key; undefined for keys of another layout. The segment after the resource is
 * the cluster, except that objects of CRDs and bound schemas have `customresources` or an identity hash before it. No
 * logical cluster has such a name: names of 64 characters have the prefix `system:`.
 */
export function ownerOfKey(key: string): KeyOwner | undefined {
  if (!key.startsWith(registryPrefix)) return undefined;
  const start = registryPrefix.length;
  const group = key.indexOf('/', start);
  const resource = key.indexOf('/', group + 1);
  if (group < 0 || resource < 0) return undefined;
  let from = resource + 1;
  let to = key.indexOf('/', from);
  if (to < 0) return undefined;
  const isIdentity =
    (to - from === identityLength && !key.startsWith('system:', from)) ||
    (to - from === customResourcesSegment.length && key.startsWith(customResourcesSegment, from));
  if (isIdentity) {
    from = to + 1;
    to = key.indexOf('/', from);
    if (to < 0) return undefined;
  }
  return { resource: key.slice(start, resource), cluster: key.slice(from, to) };
}

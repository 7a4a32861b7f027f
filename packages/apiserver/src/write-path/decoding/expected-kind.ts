import type { CompiledSchema } from '@multiplane/schema';

/** The kind that a body must have: that of a resource, or a subresource's own (`Scale`). */
export interface ExpectedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly origin: 'built-in' | 'custom';
  readonly schema: Pick<CompiledSchema, 'decodeTyped' | 'convertTyped' | 'prune' | 'coerce' | 'applyDefaults'>;
}

/** The Go package of a group's internal types, which appears in messages of Kubernetes: `core`, `rbac`, `apiextensions`. */
export function internalPackage(group: string): string {
  // Events of events.k8s.io have the internal type of the core group.
  return group === 'events.k8s.io' || group === '' ? 'core' : (group.split('.')[0] as string);
}

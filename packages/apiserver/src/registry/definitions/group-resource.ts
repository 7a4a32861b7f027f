import type { GroupKind, GroupResource } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';

export function groupResourceOf(definition: ResourceDefinition): GroupResource {
  return { group: definition.group, resource: definition.resource };
}

/**
 * The resource in errors of the registry: its group is that of the stored kind. It differs for events.k8s.io, whose objects
 * are events of the core group (pkg/registry/core/event/storage of Kubernetes).
 */
export function storedResourceOf(definition: ResourceDefinition): GroupResource {
  return { group: definition.storage?.group ?? definition.group, resource: definition.resource };
}

/** {@link storedResourceOf} for errors that name a kind. */
export function storedKindOf(definition: ResourceDefinition, kind: string): GroupKind {
  return { group: definition.storage?.group ?? definition.group, kind };
}

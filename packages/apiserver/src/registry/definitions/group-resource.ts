import type { GroupResource, GroupVersionKind } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';

export function groupResourceOf(definition: ResourceDefinition): GroupResource {
  return { group: definition.group, resource: definition.resource };
}

/**
 * The kind in errors of validation: its group is that of the stored kind. It differs for events.k8s.io, whose objects are
 * events of the core group (pkg/registry/core/event/storage of Kubernetes).
 */
export function storedKindOf(definition: ResourceDefinition, kind: string): Pick<GroupVersionKind, 'group' | 'kind'> {
  return { group: definition.storage?.group ?? definition.group, kind };
}

import type { GroupResource } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';

export function groupResourceOf(definition: ResourceDefinition): GroupResource {
  return { group: definition.group, resource: definition.resource };
}

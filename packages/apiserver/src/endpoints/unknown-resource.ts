import { type StatusError, statusErrors } from '@multiplane/apimachinery';
import type { ResourceResolver } from '../registry/definitions/resource-resolver.ts';

/**
 * The error for a path that no served resource has: below groups that are compiled in a Status with code 404. Undefined
 * below other groups, where Kubernetes responds with 404 in plain text.
 */
export function unknownResource(
  resolver: Pick<ResourceResolver, 'isBuiltInGroup'>,
  group: string,
): StatusError | undefined {
  return resolver.isBuiltInGroup(group) ? statusErrors.unknownResource() : undefined;
}

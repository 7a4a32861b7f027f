import { statusErrors } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { type ObjectLocation, objectKey } from '@multiplane/storage';
import { groupResourceOf } from '../definitions/group-resource.ts';

/** Storage key of an object. Throws 404 or 400 for names that cannot be a segment of a key, 405 for kinds without storage. */
export function keyOf(definition: ResourceDefinition, location: ObjectLocation): string {
  const { storage } = definition;
  if (storage === undefined) throw statusErrors.methodNotAllowed('get', groupResourceOf(definition));
  const { name, namespace } = location;
  if (
    name === '' ||
    name === '.' ||
    name === '..' ||
    name.includes('/') ||
    namespace.includes('/') ||
    namespace === '.' ||
    namespace === '..'
  ) {
    throw statusErrors.notFound(groupResourceOf(definition), name);
  }
  // Only for names that can be in a URL; those above cannot.
  if (name.includes('%'))
    throw statusErrors.badRequest(`Name parameter invalid: ${JSON.stringify(name)}: may not contain '%'`);
  return objectKey(storage.prefix, location);
}

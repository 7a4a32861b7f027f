import { apiVersionOf, type GroupVersionResource } from '@multiplane/apimachinery';

/** Reads `<group>/<version>/<resource>`, or `<version>/<resource>` for the core group. Throws a RangeError for other texts. */
export function parseResource(text: string): GroupVersionResource {
  const parts = text.split('/');
  const [resource = '', version = '', group = ''] = parts.toReversed();
  if (parts.length < 2 || parts.length > 3 || parts.includes(''))
    throw new RangeError(
      `invalid resource ${JSON.stringify(text)}: it must be <group>/<version>/<resource>, as in apps/v1/deployments, or <version>/<resource> for the core group`,
    );
  return { group, version, resource };
}

/** The inverse of {@link parseResource}. */
export const resourceText = (resource: GroupVersionResource): string =>
  `${apiVersionOf(resource)}/${resource.resource}`;

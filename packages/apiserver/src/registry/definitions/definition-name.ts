/** The name of the CustomResourceDefinition of a resource; the core group is written as `core`, as kcp does. */
export const definitionName = (group: string, resource: string): string =>
  `${resource}.${group === '' ? 'core' : group}`;

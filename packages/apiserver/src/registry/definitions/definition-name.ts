/** Name of the definition behind a resource; the core group is spelled out (C3.4). */
export const definitionName = (group: string, resource: string): string =>
  `${resource}.${group === '' ? 'core' : group}`;

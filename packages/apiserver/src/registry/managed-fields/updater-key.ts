import { managerKey } from '@multiplane/apimachinery';

const unnamedManager = 'unknown';

/** The key of a manager that writes whole objects (operation Update). */
export function updaterKey(fieldManager: string, apiVersion: string, subresource: string): string {
  const manager = fieldManager === '' ? unnamedManager : fieldManager;
  return managerKey({ manager, operation: 'Update', apiVersion, subresource });
}

import { fieldErrors, validateQualifiedName, type FieldError, type FieldPath } from '@multiplane/apimachinery';

/*
 * Names of resources that can be limited. A name without a slash must be one of Kubernetes' own.
 */

const quotaNames = new Set([
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
]);
/** Core kinds that quotas may count by their plain name, as they did before `count/…`. */
export const plainlyCounted: ReadonlySet<string> = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
]);
const integerNames = new Set([...plainlyCounted, 'services.nodeports', 'services.loadbalancers']);
const containerNames = new Set(['cpu', 'memory', 'ephemeral-storage']);

const isHugePage = (name: string): boolean => name.startsWith('hugepages-');
const isQuotaHugePage = (name: string): boolean => isHugePage(name) || name.startsWith('requests.hugepages-');
const isStandard = (name: string): boolean => quotaNames.has(name) || name === 'storage' || isQuotaHugePage(name);

/** Names that quotas know without a group. */
export const isStandardQuotaName = (name: string): boolean => quotaNames.has(name) || isQuotaHugePage(name);

/** Amounts of objects and of extended resources come in whole numbers. */
export const isIntegerName = (name: string): boolean => integerNames.has(name) || isExtendedName(name);

/** Amounts that containers may be promised more of than there is. */
export const allowsOvercommit = (name: string): boolean => isNative(name) && !isHugePage(name);

/** Names of Kubernetes itself; others are those of extended resources. */
export const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');
/** Its name in a quota must be a qualified one, too. */
const isExtendedName = (name: string): boolean =>
  !isNative(name) && !name.startsWith('requests.') && validateQualifiedName(`requests.${name}`).length === 0;

function resourceNameErrors(name: string, path: FieldPath): FieldError[] {
  const errors = validateQualifiedName(name).map((message) => fieldErrors.invalid(path, name, message));
  if (errors.length === 0 && !name.includes('/') && !isStandard(name)) {
    errors.push(fieldErrors.invalid(path, name, 'must be a standard resource type or fully qualified'));
  }
  return errors;
}

export function quotaNameErrors(name: string, path: FieldPath): FieldError[] {
  const errors = resourceNameErrors(name, path);
  if (!name.includes('/') && !isStandardQuotaName(name)) {
    errors.push(fieldErrors.invalid(path, name, 'must be a standard resource for quota'));
  }
  return errors;
}

/** Names in the limits of containers and pods, and of other things. */
export function limitNameErrors(limitType: string, name: string, path: FieldPath): FieldError[] {
  const errors = resourceNameErrors(name, path);
  if (limitType !== 'Pod' && limitType !== 'Container') return errors;
  if (!name.includes('/')) {
    if (!containerNames.has(name) && !isHugePage(name)) {
      errors.push(fieldErrors.invalid(path, name, 'must be a standard resource for containers'));
    }
  } else if (!isNative(name) && !isExtendedName(name)) {
    errors.push(fieldErrors.invalid(path, name, "doesn't follow extended resource name standard"));
  }
  return errors;
}

import { validateDns1123Label, validateDns1123Subdomain, validatePathSegmentName } from '@multiplane/apimachinery';

/*
 * The rules that kinds have for names, as a strategy's `validateName`.
 */

/** Lower-case DNS subdomain of at most 253 characters: most kinds. */
export const subdomainName = (name: string): string[] => validateDns1123Subdomain(name);

/** Lower-case DNS label of at most 63 characters: namespaces. */
export const labelName = (name: string): string[] => validateDns1123Label(name);

/** Anything that can stand in a path: RBAC, where `system:node` is a name, and events. */
export const pathSegmentName = (name: string): string[] => validatePathSegmentName(name);

import { isIP } from 'node:net';

/** The target of a request to a mounted workspace. */
export interface MountTarget {
  readonly url: URL;
  /** Prefix of the path within the workspace. */
  readonly path: string;
}

/**
 * What clients learn about a mount that cannot be reached, whatever the reason: the differences between a refused address, a name
 * without address, a closed port and an untrusted certificate would map the network of the server for the tenant who sets the URL.
 */
export const mountUnreachable = 'the target of the workspace mount cannot be reached';

/** Mounts of mounts that are resolved for one request. */
export const maxMountHops = 8;

/** The logical cluster that a mount of this control plane refers to; undefined for other paths, which are not mounted. */
export const mountedCluster = (path: string): string | undefined => /^\/clusters\/([^/*]+)$/.exec(path)?.[1];

/**
 * The target of a mount URL. Workspaces below the mounted one extend the logical cluster in the URL: `…/clusters/x`
 * with the child `child` becomes `…/clusters/x:child`. Returns undefined if there are child segments and the URL names
 * no cluster: there is no such workspace.
 *
 * Tenants write these URLs, so only https is accepted, and no link-local addresses, where clouds serve instance
 * metadata. Throws for a rejected URL.
 */
export function mountTarget(text: string, rest: readonly string[]): MountTarget | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:') throw new Error('a mount must be an https URL');
  if (isLinkLocal(url.hostname)) throw new Error('a mount must not be a link-local address');
  const path = url.pathname.replace(/\/+$/, '');
  const base = new URL(url.origin);
  if (rest.length === 0) return { url: base, path };
  return /\/clusters\/[^/*]+$/.test(path) ? { url: base, path: `${path}:${rest.join(':')}` } : undefined;
}

function isLinkLocal(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  if (isIP(address) === 4) return address.startsWith('169.254.');
  if (isIP(address) !== 6) return false;
  // URL parsing normalizes addresses: ::ffff:169.254.x.y is ::ffff:a9fe:….
  return /^fe[89ab]/.test(address) || address.startsWith('::ffff:a9fe:');
}

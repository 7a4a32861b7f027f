import { isIP } from 'node:net';

/** Where a request for a mounted workspace goes. */
export interface MountTarget {
  readonly url: URL;
  /** Stands before what the request has behind its workspace. */
  readonly path: string;
}

/**
 * The address behind a mount (C11.6). Workspaces behind the mounted one follow the logical cluster that the URL names:
 * `…/clusters/x` with `child` behind is `…/clusters/x:child`. A URL without a cluster has no place for them: undefined,
 * there is no such workspace.
 *
 * Tenants write these URLs: only https, and no addresses of the machine's own surroundings (link-local, where clouds
 * keep their metadata). Throws for what is refused.
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
  // URLs write addresses in one way only: ::ffff:169.254.x.y is ::ffff:a9fe:….
  return /^fe[89ab]/.test(address) || address.startsWith('::ffff:a9fe:');
}

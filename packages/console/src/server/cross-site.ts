import type { IncomingMessage } from 'node:http';
import { statusErrors } from '@multiplane/apimachinery';
import { isSameSecret } from './same-secret.ts';
import type { Session } from './session-store.ts';

const safeMethods = new Set(['GET', 'HEAD']);

/** The origin of the console, as the browser sees it. */
export function originOf(request: IncomingMessage, externalUrl: string | undefined): string {
  if (externalUrl !== undefined) return new URL(externalUrl).origin;
  // Node's request of HTTP/2 has no `host`.
  const { host, ':authority': authority } = request.headers;
  return `https://${host ?? String(authority ?? '')}`;
}

/**
 * Throws a StatusError 403 for a request that another site caused. Browsers send at least one of the two headers with such a
 * request; clients that send neither have no cookies of a browser.
 */
export function refuseOtherSites(request: IncomingMessage, externalUrl: string | undefined): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (origin !== undefined && origin !== originOf(request, externalUrl))
    throw refused('the request comes from another origin');
  if (site !== undefined && site !== 'same-origin' && !(site === 'none' && safeMethods.has(request.method ?? '')))
    throw refused('the request comes from another site');
}

/** Throws a StatusError 403 for a request that may change something, without the token of its session. */
export function checkCsrf(request: IncomingMessage, session: Pick<Session, 'csrfToken'>): void {
  if (safeMethods.has(request.method ?? '')) return;
  const token = request.headers['x-csrf-token'];
  if (typeof token !== 'string' || !isSameSecret(token, session.csrfToken))
    throw refused('the header X-CSRF-Token is missing or wrong');
}

const refused = (why: string): Error => statusErrors.forbidden({ group: '', resource: '' }, '', why);

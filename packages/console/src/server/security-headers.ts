import type { ServerResponse } from 'node:http';

/** Sent with everything that the console serves. */
export function setSecurityHeaders(response: ServerResponse): void {
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('x-frame-options', 'DENY');
  // Not no-referrer: with it, a form of the console itself would be sent without its origin.
  response.setHeader('referrer-policy', 'same-origin');
  response.setHeader('cross-origin-opener-policy', 'same-origin');
  response.setHeader('cross-origin-resource-policy', 'same-origin');
  response.setHeader('permissions-policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()');
  response.setHeader('content-security-policy', "default-src 'none'; frame-ancestors 'none'; sandbox");
  response.setHeader('cache-control', 'no-store');
}

/**
 * The policy of a page: scripts, styles and connections of the console only. `nonce` allows the style sheets that libraries of the
 * application insert; there is none for scripts.
 */
export function setPagePolicy(response: ServerResponse, nonce: string): void {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ];
  response.setHeader('content-security-policy', policy.join('; '));
}

import type { UpstreamFailure } from './upstream-error.ts';

/** Classifies a connection error. `uncertain`: the upstream may have received a request that must not be repeated. */
export function classifyFailure(error: unknown, uncertain: boolean): UpstreamFailure {
  const code = codeOf(error);
  if (tlsErrorOf(error) !== undefined) return 'tls';
  if (malformed.has(code) || nameOf(error) === 'HTTPParserError') return 'malformed';
  return uncertain ? 'unanswered' : 'unreachable';
}

/** Whether the upstream closed the connection without a response, as servers do with idle connections. */
export function isStaleConnection(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET';
}

export type TlsErrorType = 'unknown_ca' | 'expired_cert' | 'cipher_mismatch' | 'hostname_mismatch' | 'other';

/** The TLS error type, with the label values that kcp's front-proxy metrics use; undefined for other errors. */
export function tlsErrorOf(error: unknown): TlsErrorType | undefined {
  const code = codeOf(error);
  if (unknownAuthority.has(code)) return 'unknown_ca';
  switch (code) {
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return 'expired_cert';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'hostname_mismatch';
    case 'ERR_SSL_NO_SHARED_CIPHER':
    case 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE':
    case 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE':
    case 'ERR_SSL_NO_PROTOCOLS_AVAILABLE':
      return 'cipher_mismatch';
    case 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA':
      return 'unknown_ca';
    default:
      return code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') ? 'other' : undefined;
  }
}

const unknownAuthority = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
const malformed = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_INVALID_ARG',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
]);

/** Whether a connection timed out while it was established: a retry would take as long. */
export const isConnectTimeout = (error: unknown): boolean => codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT';

function nameOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? (error as { readonly name?: unknown }).name : undefined;
}

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null ? (error as { readonly code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}

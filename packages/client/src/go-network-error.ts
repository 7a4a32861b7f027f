/** The destination of a connection. */
interface Destination {
  readonly hostname: string;
  readonly port: string;
}

/**
 * The text of a network error as Go's net and crypto/tls packages would write it: clients see it in error messages of
 * webhooks and proxies. Errors without a counterpart keep the text of Node.
 */
export function goNetworkError(error: Error, { hostname, port }: Destination): string {
  const { code, address, valid } = error as Error & {
    readonly code?: unknown;
    readonly address?: unknown;
    readonly valid?: unknown;
  };
  const dial = `dial tcp ${typeof address === 'string' ? hostPort(address, port) : hostPort(hostname, port)}`;
  switch (code) {
    case 'ECONNREFUSED':
      return `${dial}: connect: connection refused`;
    case 'EHOSTUNREACH':
      return `${dial}: connect: no route to host`;
    case 'ENETUNREACH':
      return `${dial}: connect: network is unreachable`;
    case 'ETIMEDOUT':
      return `${dial}: i/o timeout`;
    case 'ENOTFOUND':
    case 'EAI_NONAME':
      return `dial tcp: lookup ${hostname}: no such host`;
    case 'EAI_AGAIN':
      return `dial tcp: lookup ${hostname}: server misbehaving`;
    case 'ECONNRESET':
      // Node uses this code also for a connection that was closed before a response.
      return error.message === 'socket hang up'
        ? 'EOF'
        : `read tcp ${hostPort(hostname, port)}: read: connection reset by peer`;
    case 'EPIPE':
      return 'write: broken pipe';
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'CERT_SIGNATURE_FAILURE':
      return `${verification}certificate signed by unknown authority`;
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return `${verification}certificate has expired or is not yet valid`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `${verification}certificate is not valid for ${hostname}`;
    default:
      if (valid === false) return `${verification}${error.message}`;
      return error.message;
  }
}

const verification = 'tls: failed to verify certificate: x509: ';

const hostPort = (host: string, port: string): string => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);

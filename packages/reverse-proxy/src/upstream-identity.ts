/**
 * TLS material (PEM) of the connections to an upstream: the client certificate, and the CAs that verify the upstream.
 */
export interface UpstreamIdentity {
  /** CAs that verify the upstream; absent: the defaults of Node. */
  readonly ca?: string | readonly string[] | undefined;
  /** Client certificate and its key. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Server name to verify, instead of the host of the URL. */
  readonly serverName?: string | undefined;
}

/** An identity that may be replaced at run time: new connections use the new one, requests in flight keep theirs. */
export interface UpstreamIdentitySource {
  readonly current: UpstreamIdentity;
}

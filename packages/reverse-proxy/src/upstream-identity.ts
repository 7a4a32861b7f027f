/** Who the proxy is to its upstreams, and whom it believes: the TLS material of one pool of connections (PEM). */
export interface UpstreamIdentity {
  /** Verifies the upstream; absent: what Node trusts. */
  readonly ca?: string | readonly string[] | undefined;
  /** Client certificate and its key. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Name to verify the upstream's certificate by, instead of the host of its URL. */
  readonly serverName?: string | undefined;
}

/** An identity that may be replaced while the proxy runs: new connections use the new one, requests under way go on. */
export interface UpstreamIdentitySource {
  readonly current: UpstreamIdentity;
}

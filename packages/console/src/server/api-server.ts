import type { SecureContextOptions } from 'node:tls';

/** The API server that the console forwards to: a front-proxy, or the shard in whose process it runs. */
export interface ApiServer {
  /** `https://<host>:<port>`, as this process reaches it. */
  readonly url: string;
  /** How the server is verified: CAs (PEM). Absent: those of the system. */
  readonly ca?: string | undefined;
  /** True: `ca` is the very certificate of the server, whatever hosts it names. */
  readonly isPinned?: boolean | undefined;
}

/** The TLS options of a connection to a server. */
export const tlsOptions = ({ ca, isPinned }: ApiServer): SecureContextOptions & Record<string, unknown> => ({
  ...(ca === undefined ? {} : { ca }),
  ...(isPinned === true ? { allowPartialTrustChain: true, checkServerIdentity: () => undefined } : {}),
});

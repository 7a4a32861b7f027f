import {
  BearerTokenAuthenticator,
  RequestHeaderAuthenticator,
  UnionAuthenticator,
  X509Authenticator,
  type CertificateAuthorities,
  type RequestAuthenticator,
  type TokenAuthenticator,
} from '@multiplane/apiserver';
import { OptionError, parseCertificates, type CertificateWatcher, type Clock } from '@multiplane/component-base';
import type { VirtualWorkspacesOptions } from './options.ts';

/**
 * Who comes in (C8.8): those whom a trusted proxy vouches for, client certificates, and bearer tokens as the shard knows
 * them; then anonymous.
 */
export function requestAuthentication(
  options: VirtualWorkspacesOptions,
  modules: { readonly watcher: CertificateWatcher; readonly clock: Clock; readonly tokens: TokenAuthenticator },
): RequestAuthenticator {
  const { watcher, clock } = modules;
  const now = (): number => clock.now();
  const bundle = (file: string | undefined): CertificateAuthorities | undefined => {
    if (file === undefined) return undefined;
    const watched = watcher.watch(file, (readText) => parseCertificates(readText(file), file));
    return { current: () => watched.current };
  };
  const users = bundle(options.clientCaFile);
  const proxies = bundle(options.requestheaderClientCaFile);
  // Whoever may sign a user could else sign somebody who is believed about all users.
  const own = new Set(users?.current().map(({ fingerprint256 }) => fingerprint256));
  if (
    options.requestheaderAllowedNames.length === 0 &&
    proxies?.current().some(({ fingerprint256 }) => own.has(fingerprint256)) === true
  )
    throw new OptionError(
      '--requestheader-client-ca-file shares a CA with --client-ca-file: --requestheader-allowed-names is required',
    );
  const requestHeader = new RequestHeaderAuthenticator(
    {
      now,
      allowedNames: options.requestheaderAllowedNames,
      usernameHeaders: options.requestheaderUsernameHeaders,
      groupHeaders: options.requestheaderGroupHeaders,
      uidHeaders: options.requestheaderUidHeaders,
      extraHeadersPrefix: options.requestheaderExtraHeadersPrefix,
    },
    { authorities: proxies },
  );
  const authenticators: RequestAuthenticator[] = [requestHeader];
  if (users !== undefined) {
    const certificates = new X509Authenticator({ now }, { authorities: users });
    authenticators.push({
      // What a proxy shows opens a connection, it is nobody's credential.
      authenticate: async (exchange) =>
        requestHeader.isProxy(exchange) ? undefined : certificates.authenticate(exchange),
    });
  }
  if (!options.authenticationSkipLookup)
    authenticators.push(new BearerTokenAuthenticator({ audiences: [] }, { tokens: modules.tokens }));
  return new UnionAuthenticator({ anonymous: true }, { authenticators });
}

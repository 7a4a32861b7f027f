import {
  BearerTokenAuthenticator,
  certificateAuthentication,
  UnionAuthenticator,
  type CertificateAuthorities,
  type RequestAuthenticator,
  type TokenAuthenticator,
} from '@multiplane/apiserver';
import { parseCertificates, type CertificateWatcher, type Clock } from '@multiplane/component-base';
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
  const authenticators = [
    ...certificateAuthentication(options, {
      users: bundle(options.clientCaFile),
      proxies: bundle(options.requestheaderClientCaFile),
      now,
    }),
  ];
  if (!options.authenticationSkipLookup)
    authenticators.push(new BearerTokenAuthenticator({ audiences: [] }, { tokens: modules.tokens }));
  return new UnionAuthenticator({ anonymous: true }, { authenticators });
}

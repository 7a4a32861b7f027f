import { parseCertificates, type CertificateWatcher, type Clock } from '@multiplane/component-base';
import {
  BearerTokenAuthenticator,
  certificateAuthenticators,
  type CertificateAuthorities,
  type RequestAuthenticator,
  type TokenAuthenticator,
  UnionAuthenticator,
} from '@multiplane/generic-server';
import type { VirtualWorkspacesOptions } from './options.ts';

/**
 * The authenticators: users in the headers of a trusted proxy, client certificates, bearer tokens by TokenReview on the
 * shard, then anonymous.
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
    ...certificateAuthenticators(options, {
      users: bundle(options.clientCaFile),
      proxies: bundle(options.requestheaderClientCaFile),
      now,
    }),
  ];
  if (!options.authenticationSkipLookup)
    authenticators.push(new BearerTokenAuthenticator({ audiences: [] }, { tokens: modules.tokens }));
  return new UnionAuthenticator({ anonymous: true }, { authenticators });
}

import { readVerificationKey, type CertificateWatcher, type Clock } from '@multiplane/component-base';
import {
  BearerTokenAuthenticator,
  parseTokenFile,
  ServiceAccountTokens,
  StaticTokenAuthenticator,
  UnionTokenAuthenticator,
  type RequestAuthenticator,
  type ServiceAccountLookup,
  type TokenAuthenticator,
} from '@multiplane/generic-server';
import type { FrontProxyOptions } from '../options.ts';

export interface TokenAuthenticationModules {
  readonly serviceAccounts: ServiceAccountLookup;
  /** Authenticators for tokens of external issuers; tried last. */
  readonly external: readonly TokenAuthenticator[];
  readonly watcher: CertificateWatcher;
  readonly clock: Clock;
}

/**
 * The authenticator of bearer tokens: static tokens, ServiceAccount tokens, tokens of external issuers. Empty if none is
 * configured; the front-proxy then forwards tokens to the shards.
 */
export function tokenAuthenticators(
  options: FrontProxyOptions,
  { serviceAccounts, external, watcher, clock }: TokenAuthenticationModules,
): readonly RequestAuthenticator[] {
  const authenticators: TokenAuthenticator[] = [];
  if (options.tokenAuthFile !== undefined) {
    const tokens = new StaticTokenAuthenticator();
    for (const { token, user } of parseTokenFile(watcher.readSecrets('token-auth-file', options.tokenAuthFile)))
      tokens.add(token, user);
    authenticators.push(tokens);
  }
  if (options.serviceAccountKeyFile.length > 0) {
    const verificationKeys = options.serviceAccountKeyFile.map((file) =>
      readVerificationKey('service-account-key-file', file),
    );
    authenticators.push(
      new ServiceAccountTokens(
        { issuers: options.serviceAccountIssuer, verificationKeys, now: () => clock.now() },
        { getter: serviceAccounts },
      ),
    );
  }
  authenticators.push(...external);
  if (authenticators.length === 0) return [];
  const tokens = new UnionTokenAuthenticator({ authenticators });
  return [new BearerTokenAuthenticator({ audiences: options.apiAudiences }, { tokens })];
}

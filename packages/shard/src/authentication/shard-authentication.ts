import { X509Certificate } from 'node:crypto';
import type { GroupVersionResource } from '@multiplane/apimachinery';
import {
  BearerTokenAuthenticator,
  parseTokenFile,
  ServiceAccountTokens,
  StaticTokenAuthenticator,
  UnionAuthenticator,
  UnionTokenAuthenticator,
  X509Authenticator,
  type RequestAuthenticator,
  type ServiceAccountGetter,
  type TokenAuthenticator,
} from '@multiplane/apiserver';
import type { InformerFactory } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { readOptionFile, type ShardOptions } from '../options.ts';
import type { ServingFiles } from '../serving-files.ts';
import { adminTokens, type AdminTokens } from './admin-tokens.ts';

export interface ShardAuthentication {
  readonly authenticator: RequestAuthenticator;
  readonly tokens: TokenAuthenticator;
  readonly serviceAccountTokens: ServiceAccountTokens;
  readonly serviceAccounts: ServiceAccountGetter;
  readonly admin: AdminTokens;
}

const core = (resource: string): GroupVersionResource => ({ group: '', version: 'v1', resource });

/** Who may come in (C7.1): client certificates, admin tokens, the token file, service accounts; then anonymous. */
export function shardAuthentication(
  options: ShardOptions,
  modules: { readonly files: ServingFiles; readonly informers: InformerFactory; readonly clock: Clock },
): ShardAuthentication {
  const { files, informers, clock } = modules;
  const now = (): number => clock.now();
  const staticTokens = new StaticTokenAuthenticator();
  const admin = adminTokens(
    { hashFile: options.authenticationAdminTokenPath, kubeconfigFile: options.kubeconfigPath },
    { tokens: staticTokens },
  );
  if (options.tokenAuthFile !== undefined) {
    for (const { token, user } of parseTokenFile(readOptionFile('token-auth-file', options.tokenAuthFile)))
      staticTokens.add(token, user);
  }
  const accounts = informers.informer(core('serviceaccounts'));
  const secrets = informers.informer(core('secrets'));
  const serviceAccounts: ServiceAccountGetter = {
    serviceAccount: (cluster, namespace, name) => accounts.get({ cluster, namespace, name }),
    secret: (cluster, namespace, name) => secrets.get({ cluster, namespace, name }),
  };
  const serviceAccountTokens = new ServiceAccountTokens(
    { issuers: options.serviceAccountIssuer, signingKey: files.serviceAccountKey, now },
    { getter: serviceAccounts },
  );
  const tokens = new UnionTokenAuthenticator({ authenticators: [staticTokens, serviceAccountTokens] });
  const authorities = certificatesOf(files.clientCa);
  const authenticator = new UnionAuthenticator(
    { anonymous: options.anonymousAuth },
    {
      authenticators: [
        new X509Authenticator({ now }, { authorities: { current: () => authorities } }),
        new BearerTokenAuthenticator({ audiences: options.apiAudiences }, { tokens }),
      ],
    },
  );
  return { authenticator, tokens, serviceAccountTokens, serviceAccounts, admin };
}

/** Every certificate of a PEM bundle. */
function certificatesOf(bundle: string): X509Certificate[] {
  return (bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (pem) => new X509Certificate(pem),
  );
}

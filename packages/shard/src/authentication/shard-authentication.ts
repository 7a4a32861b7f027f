import type { GroupVersionResource, LogicalClusterName } from '@multiplane/apimachinery';
import { JwtCelCompiler } from '@multiplane/apiserver';
import type { InformerSyncTracker, ObjectClient } from '@multiplane/client';
import { type CertificateWatcher, type Clock, type Runnable } from '@multiplane/component-base';
import {
  BearerTokenAuthenticator,
  certificateAuthenticators,
  externalTokens,
  defaultServiceAccountLookupOptions,
  parseTokenFile,
  type RequestAuthenticator,
  type ServiceAccountGetter,
  type ServiceAccountLookup,
  RemoteServiceAccountLookup,
  ServiceAccountTokens,
  StaticTokenAuthenticator,
  type TokenAuthenticator,
  UnionAuthenticator,
  UnionTokenAuthenticator,
} from '@multiplane/generic-server';
import type { ShardOptions } from '../options.ts';
import type { ServingFiles } from '../serving-files.ts';
import { adminTokens, type AdminTokens } from './admin-tokens.ts';
import { WorkspaceAuthentication, type WorkspaceAuthenticationModules } from './workspace-authentication.ts';

export interface ShardAuthentication {
  /** Authenticates users of the whole control plane. */
  readonly authenticator: RequestAuthenticator;
  /** {@link authenticator}, and for requests to a workspace also the token issuers of its type. */
  readonly requests: RequestAuthenticator;
  readonly tokens: TokenAuthenticator;
  /** Tokens that hold in a workspace: {@link tokens}, and those of the issuers of its type. */
  readonly tokensIn: (cluster: LogicalClusterName) => TokenAuthenticator;
  readonly serviceAccountTokens: ServiceAccountTokens;
  readonly serviceAccounts: ServiceAccountGetter;
  /** Undefined without the battery `admin`. */
  readonly admin: AdminTokens | undefined;
  /** Refreshes the issuers' keys and holds connections to token webhooks. */
  readonly runnable: Runnable;
}

const core = (resource: string): GroupVersionResource => ({ group: '', version: 'v1', resource });

interface Modules {
  readonly files: ServingFiles;
  readonly informers: InformerSyncTracker;
  readonly certificates: CertificateWatcher;
  readonly clock: Clock;
  /** Client for a logical cluster of another shard; undefined for local ones, and without an identity to use. */
  readonly remoteClient: (cluster: LogicalClusterName) => ObjectClient | undefined;
  /** For the authentication of workspaces, behind the feature gate WorkspaceAuthentication. */
  readonly workspaces: Omit<WorkspaceAuthenticationModules, 'clock' | 'expressions'>;
}

/**
 * The authenticators in their order: client certificates, admin tokens, the token file, service account tokens, tokens of the
 * issuers that the operator configured; then anonymous.
 */
export function shardAuthentication(options: ShardOptions, modules: Modules): ShardAuthentication {
  const { files, clock } = modules;
  const now = (): number => clock.now();
  const { staticTokens, admin } = staticTokensOf(options, modules);
  const { serviceAccounts, lookup } = serviceAccountLookups(modules);
  const serviceAccountTokens = new ServiceAccountTokens(
    {
      issuers: options.serviceAccountIssuer,
      signingKey: files.serviceAccountKey,
      verificationKeys: files.serviceAccountVerificationKeys,
      now,
    },
    { getter: lookup },
  );
  const expressions = new JwtCelCompiler();
  const configured = externalTokens(options, { watcher: modules.certificates, clock, expressions });
  const tokens = new UnionTokenAuthenticator({
    authenticators: [staticTokens, serviceAccountTokens, ...configured.authenticators],
  });
  const { clientAuthorities, proxyAuthorities } = files;
  const authenticators: readonly RequestAuthenticator[] = [
    ...certificateAuthenticators(options, {
      users: { current: () => clientAuthorities.current },
      proxies: proxyAuthorities === undefined ? undefined : { current: () => proxyAuthorities.current },
      workspaces: { current: () => files.workspaceAuthorities.current },
      now,
    }),
    new BearerTokenAuthenticator({ audiences: options.apiAudiences }, { tokens }),
  ];
  const anonymous = configured.anonymous ?? options.anonymousAuth;
  const authenticator = new UnionAuthenticator({ anonymous }, { authenticators });
  const workspaceAuthentication = options.features.enabled('WorkspaceAuthentication')
    ? new WorkspaceAuthentication(
        { audiences: options.apiAudiences, disallowedIssuers: options.serviceAccountIssuer },
        { ...modules.workspaces, expressions, clock },
      )
    : undefined;
  return {
    authenticator,
    requests:
      workspaceAuthentication === undefined
        ? authenticator
        : new UnionAuthenticator({ anonymous }, { authenticators: [...authenticators, workspaceAuthentication] }),
    tokens,
    tokensIn: (cluster) => {
      const issued = workspaceAuthentication?.tokensOf(cluster);
      return issued === undefined ? tokens : new UnionTokenAuthenticator({ authenticators: [tokens, issued] });
    },
    serviceAccountTokens,
    serviceAccounts,
    admin,
    runnable: {
      ...configured.runnable,
      stop: async () => {
        workspaceAuthentication?.close();
        await configured.runnable.stop();
      },
    },
  };
}

/** The tokens of the built-in users and of `--token-auth-file`. */
function staticTokensOf(
  options: ShardOptions,
  { certificates }: Pick<Modules, 'certificates'>,
): {
  readonly staticTokens: StaticTokenAuthenticator;
  readonly admin: AdminTokens | undefined;
} {
  const staticTokens = new StaticTokenAuthenticator();
  const { batteries, tokenAuthFile } = options;
  const admin = batteries.has('admin')
    ? adminTokens(
        {
          hashFile: options.authenticationAdminTokenPath,
          kubeconfigFile: options.kubeconfigPath,
          withUser: batteries.has('user'),
        },
        { tokens: staticTokens },
      )
    : undefined;
  if (tokenAuthFile !== undefined) {
    for (const { token, user } of parseTokenFile(certificates.readSecrets('token-auth-file', tokenAuthFile)))
      staticTokens.add(token, user);
  }
  return { staticTokens, admin };
}

/** Reads of service accounts and their secrets: on this shard, and with `lookup` also on others. */
function serviceAccountLookups({ informers, clock, remoteClient }: Modules): {
  readonly serviceAccounts: ServiceAccountGetter;
  readonly lookup: ServiceAccountLookup;
} {
  const accounts = informers.informer(core('serviceaccounts'));
  const secrets = informers.informer(core('secrets'));
  const serviceAccounts: ServiceAccountGetter = {
    serviceAccount: (cluster, namespace, name) => accounts.get({ cluster, namespace, name }),
    secret: (cluster, namespace, name) => secrets.get({ cluster, namespace, name }),
  };
  // A provider's controller uses a service account of its own workspace on the shards of all consumers.
  const remote = new RemoteServiceAccountLookup(defaultServiceAccountLookupOptions, { clock, clientOf: remoteClient });
  return {
    serviceAccounts,
    lookup: {
      serviceAccount: (...of) => serviceAccounts.serviceAccount(...of) ?? remote.serviceAccount(...of),
      secret: (...of) => serviceAccounts.secret(...of) ?? remote.secret(...of),
    },
  };
}

import type { GroupVersionResource, LogicalClusterName } from '@multiplane/apimachinery';
import {
  BearerTokenAuthenticator,
  certificateAuthentication,
  configuredTokens,
  defaultServiceAccountReadsOptions,
  JwtExpressions,
  parseTokenFile,
  ServiceAccountReads,
  ServiceAccountTokens,
  StaticTokenAuthenticator,
  UnionAuthenticator,
  UnionTokenAuthenticator,
  type RequestAuthenticator,
  type ServiceAccountGetter,
  type ServiceAccountLookup,
  type TokenAuthenticator,
} from '@multiplane/apiserver';
import type { AwaitedInformers, ObjectClient } from '@multiplane/client';
import type { CertificateWatcher, Clock, Runnable } from '@multiplane/component-base';
import { readOptionFile, type ShardOptions } from '../options.ts';
import type { ServingFiles } from '../serving-files.ts';
import { adminTokens, type AdminTokens } from './admin-tokens.ts';
import { WorkspaceAuthentication, type WorkspaceAuthenticationModules } from './workspace-authentication.ts';

export interface ShardAuthentication {
  /** Of callers of the control plane as a whole. */
  readonly authenticator: RequestAuthenticator;
  /** The same and, where a request is for a workspace, those whom the issuers of its type vouch for. */
  readonly requests: RequestAuthenticator;
  readonly tokens: TokenAuthenticator;
  readonly serviceAccountTokens: ServiceAccountTokens;
  readonly serviceAccounts: ServiceAccountGetter;
  /** Absent without the battery `admin`. */
  readonly admin: AdminTokens | undefined;
  /** Keys of issuers, webhooks. */
  readonly runnable: Runnable;
}

const core = (resource: string): GroupVersionResource => ({ group: '', version: 'v1', resource });

/**
 * Who may come in (C7.1): client certificates, admin tokens, the token file, service accounts, tokens of issuers that
 * the operator trusts; then anonymous.
 */
export function shardAuthentication(
  options: ShardOptions,
  modules: {
    readonly files: ServingFiles;
    readonly informers: AwaitedInformers;
    readonly certificates: CertificateWatcher;
    readonly clock: Clock;
    /** Reads of logical clusters that this shard does not have; undefined for those it has, and where nobody can be asked. */
    readonly clientElsewhere: (cluster: LogicalClusterName) => ObjectClient | undefined;
    /** Without the gate WorkspaceAuthentication they are not asked. */
    readonly workspaces: Omit<WorkspaceAuthenticationModules, 'clock' | 'expressions'>;
  },
): ShardAuthentication {
  const { files, informers, clock } = modules;
  const now = (): number => clock.now();
  const staticTokens = new StaticTokenAuthenticator();
  const { batteries } = options;
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
  // A provider's controller works with its own account for consumers on every shard (C7.3).
  const elsewhere = new ServiceAccountReads(defaultServiceAccountReadsOptions, {
    clock,
    clientOf: modules.clientElsewhere,
  });
  const lookup: ServiceAccountLookup = {
    serviceAccount: (...of) => serviceAccounts.serviceAccount(...of) ?? elsewhere.serviceAccount(...of),
    secret: (...of) => serviceAccounts.secret(...of) ?? elsewhere.secret(...of),
  };
  const serviceAccountTokens = new ServiceAccountTokens(
    { issuers: options.serviceAccountIssuer, signingKey: files.serviceAccountKey, now },
    { getter: lookup },
  );
  const others = configuredTokens(options, { watcher: modules.certificates, clock });
  const tokens = new UnionTokenAuthenticator({
    authenticators: [staticTokens, serviceAccountTokens, ...others.authenticators],
  });
  const { clientAuthorities, proxyAuthorities } = files;
  const authenticators: readonly RequestAuthenticator[] = [
    ...certificateAuthentication(options, {
      users: { current: () => clientAuthorities.current },
      proxies: proxyAuthorities === undefined ? undefined : { current: () => proxyAuthorities.current },
      now,
    }),
    new BearerTokenAuthenticator({ audiences: options.apiAudiences }, { tokens }),
  ];
  const anonymous = others.anonymous ?? options.anonymousAuth;
  const authenticator = new UnionAuthenticator({ anonymous }, { authenticators });
  const ofWorkspaces = options.features.enabled('WorkspaceAuthentication')
    ? new WorkspaceAuthentication(
        { audiences: options.apiAudiences, disallowedIssuers: options.serviceAccountIssuer },
        { ...modules.workspaces, expressions: new JwtExpressions(), clock },
      )
    : undefined;
  return {
    authenticator,
    requests:
      ofWorkspaces === undefined
        ? authenticator
        : new UnionAuthenticator({ anonymous }, { authenticators: [...authenticators, ofWorkspaces] }),
    tokens,
    serviceAccountTokens,
    serviceAccounts,
    admin,
    runnable: {
      ...others.runnable,
      stop: async () => {
        ofWorkspaces?.close();
        await others.runnable.stop();
      },
    },
  };
}

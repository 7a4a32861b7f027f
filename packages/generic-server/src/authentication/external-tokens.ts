import {
  OptionError,
  readOptionFile,
  withOption,
  type CertificateWatcher,
  type Clock,
  type OptionValues,
  type Runnable,
} from '@multiplane/component-base';
import type { RequestInfo } from '../request/request-info.ts';
import { AddressPolicy } from '../webhooks/address-policy.ts';
import { operatorWebhook } from '../webhooks/operator-webhook.ts';
import { WebhookClient } from '../webhooks/webhook-client.ts';
import type { TokenAuthenticator } from './authenticator.ts';
import { CachedTokenAuthenticator } from './cached-token-authenticator.ts';
import {
  validateFlagsJwt,
  parseAuthenticationConfiguration,
  type AuthenticationConfiguration,
} from './oidc/authentication-configuration.ts';
import type { JwtConfiguration } from './oidc/jwt-configuration.ts';
import type { JwtExpressionCompiler } from './oidc/jwt-expression-compiler.ts';
import { makeOidcAuthenticator } from './oidc/make-oidc-authenticator.ts';
import { IssuerRoutingAuthenticator, type IssuerAuthenticator } from './oidc/issuer-routing-authenticator.ts';
import { allSigningAlgorithms } from './oidc/verify-token.ts';
import type { externalTokenOptionTable } from './external-token-options.ts';
import { TokenReviewWebhook } from './webhook/token-review-webhook.ts';

export type ExternalTokenOptions = OptionValues<typeof externalTokenOptionTable>;

export interface ExternalTokens {
  /** In order; to be tried after the authenticators of the server's own tokens. */
  readonly authenticators: readonly TokenAuthenticator[];
  /** Whether a request may be anonymous; absent if the configuration does not say, so that the flag decides. */
  readonly anonymous: ((info: RequestInfo) => boolean) | undefined;
  readonly runnable: Runnable;
}

/** How long an authenticated token stays valid, as in kube-apiserver. */
const successTtlMs = 10_000;

/**
 * Creates the authenticators for tokens of external issuers from the flags. Issuers of the operator may have any address. The
 * file of `--authentication-config` is reloaded when it changes; an invalid change is logged and the previous configuration
 * stays in effect. Throws OptionError.
 */
export function externalTokens(
  options: ExternalTokenOptions & {
    readonly apiAudiences: readonly string[];
    readonly serviceAccountIssuer: readonly string[];
  },
  modules: {
    readonly watcher: CertificateWatcher;
    readonly clock: Clock;
    /** For the file of `--authentication-config`; the `--oidc-*` flags have no expressions. */
    readonly expressions: JwtExpressionCompiler;
  },
): ExternalTokens {
  const { clock, expressions } = modules;
  const stopped = new AbortController();
  const client = new WebhookClient(
    {},
    { policy: new AddressPolicy({ allowed: ['0.0.0.0/0', '::/0'], denied: [] }), clock },
  );
  const validation = { expressions, disallowedIssuers: options.serviceAccountIssuer };
  const authenticators: TokenAuthenticator[] = [];
  const cached = (delegate: TokenAuthenticator): CachedTokenAuthenticator =>
    new CachedTokenAuthenticator({ successTtlMs, failureTtlMs: 0 }, { delegate, clock });
  const make = ({ jwt }: AuthenticationConfiguration, algorithms: readonly string[]): readonly IssuerAuthenticator[] =>
    jwt.map((entry) => ({
      issuer: entry.configuration.issuer.url,
      authenticator: makeOidcAuthenticator(
        { ...entry, algorithms, tenant: '', signal: stopped.signal },
        { client, expressions, clock },
      ),
    }));
  let anonymous: ExternalTokens['anonymous'];
  const flags = jwtOfFlags(options);
  const { authenticationConfig: file } = options;
  if (file !== undefined && flags !== undefined)
    throw new OptionError('authentication-config file and oidc-* flags are mutually exclusive');
  if (flags !== undefined) {
    const made = make(
      withOption('oidc-issuer-url', () => validateFlagsJwt(flags, validation)),
      options.oidcSigningAlgs,
    );
    authenticators.push(cached(new IssuerRoutingAuthenticator({ current: () => made })));
  }
  if (file !== undefined) {
    const watched = withOption('authentication-config', () =>
      modules.watcher.watch(file, (readText) => {
        const configuration = parseAuthenticationConfiguration(readText(file), file, validation);
        return { configuration, authenticators: make(configuration, allSigningAlgorithms) };
      }),
    );
    authenticators.push(cached(new IssuerRoutingAuthenticator({ current: () => watched.current.authenticators })));
    if (watched.current.configuration.anonymous !== undefined)
      anonymous = ({ path }) => {
        const { enabled = false, paths = [] } = watched.current.configuration.anonymous ?? {};
        return enabled && (paths.length === 0 || paths.includes(path));
      };
  }
  const webhook = webhookOf(options, modules);
  if (webhook !== undefined) authenticators.push(webhook.authenticator);
  return {
    authenticators,
    anonymous,
    runnable: {
      name: 'external token authenticators',
      start: () => Promise.resolve(),
      stop: async () => {
        stopped.abort(new Error('the server is stopping'));
        client.close();
        webhook?.close();
      },
    },
  };
}

function webhookOf(
  options: ExternalTokenOptions & { readonly apiAudiences: readonly string[] },
  modules: { readonly clock: Clock },
): { readonly authenticator: TokenAuthenticator; readonly close: () => void } | undefined {
  const { authenticationTokenWebhookConfigFile: file, authenticationTokenWebhookCacheTtl: ttlMs } = options;
  if (file === undefined) return undefined;
  const flag = 'authentication-token-webhook-config-file';
  const { send, close } = operatorWebhook({ flag, file, userAgent: 'multiplane-authentication' }, modules);
  const delegate = new TokenReviewWebhook(
    {
      version: options.authenticationTokenWebhookVersion === 'v1' ? 'v1' : 'v1beta1',
      implicitAudiences: options.apiAudiences,
    },
    { send },
  );
  return {
    authenticator: new CachedTokenAuthenticator(
      { successTtlMs: ttlMs, failureTtlMs: ttlMs },
      { delegate, clock: modules.clock },
    ),
    close,
  };
}

/** The JWT authenticator that the `--oidc-*` flags describe; undefined without them. */
function jwtOfFlags(options: ExternalTokenOptions): JwtConfiguration | undefined {
  const { oidcIssuerUrl: url = '', oidcClientId: audience = '', oidcGroupsClaim: groups = '' } = options;
  if (url === '' && audience === '') {
    if ([options.oidcCaFile, options.oidcGroupsClaim, options.oidcUsernamePrefix].some((flag) => flag !== undefined))
      throw new OptionError(oidcFlagsProblem);
    return undefined;
  }
  if (url === '' || audience === '') throw new OptionError(oidcFlagsProblem);
  const unknown = options.oidcSigningAlgs.filter((algorithm) => !allSigningAlgorithms.includes(algorithm));
  if (unknown.length > 0) throw new OptionError(`--oidc-signing-algs: unsupported signing alg: ${unknown.join(', ')}`);
  const { oidcUsernameClaim: claim, oidcUsernamePrefix: given, oidcCaFile: caFile } = options;
  const prefix = given === '-' ? '' : (given ?? (claim === 'email' ? '' : `${url}#`));
  const absent = { claim: '', expression: '' };
  return {
    issuer: {
      url,
      discoveryURL: '',
      certificateAuthority: caFile === undefined ? '' : readOptionFile('oidc-ca-file', caFile),
      audiences: [audience],
      audienceMatchPolicy: '',
    },
    claimValidationRules: Object.entries(options.oidcRequiredClaim ?? {}).map(([name, requiredValue]) => ({
      claim: name,
      requiredValue,
      expression: '',
      message: '',
    })),
    claimMappings: {
      username: { claim, expression: '', prefix },
      groups: groups === '' ? absent : { claim: groups, expression: '', prefix: options.oidcGroupsPrefix ?? '' },
      uid: absent,
      extra: [],
    },
    userValidationRules: [],
  };
}

const oidcFlagsProblem = 'oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set';

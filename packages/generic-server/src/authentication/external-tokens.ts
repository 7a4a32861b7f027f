import { readFileSync } from 'node:fs';
import {
  OptionError,
  type CertificateWatcher,
  type Clock,
  type OptionValues,
  type Runnable,
} from '@multiplane/component-base';
import type { RequestInfo } from '../request-info.ts';
import { AddressPolicy } from '../webhooks/address-policy.ts';
import { operatorWebhook } from '../webhooks/operator-webhook.ts';
import { WebhookClient } from '../webhooks/webhook-client.ts';
import type { TokenAuthenticator } from './authenticator.ts';
import { CachedTokens } from './cached-tokens.ts';
import {
  checkedJwt,
  parseAuthenticationConfiguration,
  type AuthenticationConfiguration,
} from './oidc/authentication-configuration.ts';
import type { JwtConfiguration } from './oidc/jwt-configuration.ts';
import { JwtExpressions } from './oidc/jwt-expressions.ts';
import { makeOidcAuthenticator } from './oidc/make-oidc-authenticator.ts';
import { TokensByIssuer, type IssuerAuthenticator } from './oidc/tokens-by-issuer.ts';
import { allSigningAlgorithms } from './oidc/verify-token.ts';
import type { tokenOptionTable } from './token-options.ts';
import { TokenReviewWebhook } from './webhook/token-review-webhook.ts';

export type TokenOptions = OptionValues<typeof tokenOptionTable>;

export interface ConfiguredTokens {
  /** In the order in which they are to be asked, behind those of the server itself. */
  readonly authenticators: readonly TokenAuthenticator[];
  /** Whether a stranger may make the request, as the configuration says; absent: the flag decides. */
  readonly anonymous: ((info: RequestInfo) => boolean) | undefined;
  readonly runnable: Runnable;
}

/** How long an accepted token stays so (K7.1). */
const acceptedMs = 10_000;

/**
 * What the flags say of tokens that others make. An issuer that the operator names may be anywhere; the file of
 * `--authentication-config` is followed, and a change that cannot be used leaves the old one in force. Throws
 * OptionError.
 */
export function configuredTokens(
  options: TokenOptions & {
    readonly apiAudiences: readonly string[];
    readonly serviceAccountIssuer: readonly string[];
  },
  modules: { readonly watcher: CertificateWatcher; readonly clock: Clock },
): ConfiguredTokens {
  const { clock } = modules;
  const ended = new AbortController();
  const client = new WebhookClient(
    {},
    { policy: new AddressPolicy({ allowed: ['0.0.0.0/0', '::/0'], denied: [] }), clock },
  );
  const expressions = new JwtExpressions();
  const judges = { expressions, disallowedIssuers: options.serviceAccountIssuer };
  const authenticators: TokenAuthenticator[] = [];
  const cached = (delegate: TokenAuthenticator): CachedTokens =>
    new CachedTokens({ acceptedMs, refusedMs: 0 }, { delegate, clock });
  const make = ({ jwt }: AuthenticationConfiguration, algorithms: readonly string[]): readonly IssuerAuthenticator[] =>
    jwt.map((entry) => ({
      issuer: entry.configuration.issuer.url,
      authenticator: makeOidcAuthenticator(
        { ...entry, algorithms, tenant: '', signal: ended.signal },
        { client, expressions, clock },
      ),
    }));
  let anonymous: ConfiguredTokens['anonymous'];
  const flags = jwtOfFlags(options);
  const { authenticationConfig: file } = options;
  if (file !== undefined && flags !== undefined)
    throw new OptionError('authentication-config file and oidc-* flags are mutually exclusive');
  if (flags !== undefined) {
    const made = make(
      asOption('oidc-issuer-url', () => checkedJwt(flags, judges)),
      options.oidcSigningAlgs,
    );
    authenticators.push(cached(new TokensByIssuer({ current: () => made })));
  }
  if (file !== undefined) {
    const followed = asOption('authentication-config', () =>
      modules.watcher.watch(file, (readText) => {
        const configuration = parseAuthenticationConfiguration(readText(file), judges);
        return { configuration, authenticators: make(configuration, allSigningAlgorithms) };
      }),
    );
    authenticators.push(cached(new TokensByIssuer({ current: () => followed.current.authenticators })));
    if (followed.current.configuration.anonymous !== undefined)
      anonymous = ({ path }) => {
        const { enabled = false, paths = [] } = followed.current.configuration.anonymous ?? {};
        return enabled && (paths.length === 0 || paths.includes(path));
      };
  }
  const webhook = webhookOf(options, modules);
  if (webhook !== undefined) authenticators.push(webhook.authenticator);
  return {
    authenticators,
    anonymous,
    runnable: {
      name: 'tokens of others',
      start: () => Promise.resolve(),
      stop: async () => {
        ended.abort(new Error('the server stops'));
        client.close();
        webhook?.close();
      },
    },
  };
}

function webhookOf(
  options: TokenOptions & { readonly apiAudiences: readonly string[] },
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
    authenticator: new CachedTokens({ acceptedMs: ttlMs, refusedMs: ttlMs }, { delegate, clock: modules.clock }),
    close,
  };
}

/** The one authenticator that `--oidc-*` describe (K7.2). */
function jwtOfFlags(options: TokenOptions): JwtConfiguration | undefined {
  const { oidcIssuerUrl: url = '', oidcClientId: audience = '', oidcGroupsClaim: groups = '' } = options;
  if (url === '' && audience === '') {
    if ([options.oidcCaFile, options.oidcGroupsClaim, options.oidcUsernamePrefix].some((flag) => flag !== undefined))
      throw new OptionError(together);
    return undefined;
  }
  if (url === '' || audience === '') throw new OptionError(together);
  const unknown = options.oidcSigningAlgs.filter((algorithm) => !allSigningAlgorithms.includes(algorithm));
  if (unknown.length > 0) throw new OptionError(`--oidc-signing-algs: unsupported signing alg: ${unknown.join(', ')}`);
  const { oidcUsernameClaim: claim, oidcUsernamePrefix: given, oidcCaFile: caFile } = options;
  const prefix = given === '-' ? '' : (given ?? (claim === 'email' ? '' : `${url}#`));
  const absent = { claim: '', expression: '' };
  return {
    issuer: {
      url,
      discoveryURL: '',
      certificateAuthority: caFile === undefined ? '' : asOption('oidc-ca-file', () => readFileSync(caFile, 'utf8')),
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

const together = 'oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set';

function asOption<T>(flag: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new OptionError(`--${flag}: ${(cause as Error).message}`, { cause });
  }
}

import type { Clock } from '@multiplane/component-base';
import type { WebhookClient } from '../../webhooks/webhook-client.ts';
import { IssuerKeys } from './issuer-keys.ts';
import type { JwtConfiguration } from './jwt-configuration.ts';
import type { JwtExpressionCompiler } from './jwt-expression-compiler.ts';
import { OidcAuthenticator, type OidcAuthenticatorOptions } from './oidc-authenticator.ts';

export interface OidcModules {
  /** Fetches the keys of issuers; its address policy decides which issuers may be called. */
  readonly client: WebhookClient;
  readonly expressions: JwtExpressionCompiler;
  readonly clock: Clock;
}

/** Creates an authenticator for a validated configuration. It fetches keys when it sees the first token of its issuer. */
export function makeOidcAuthenticator(
  options: OidcAuthenticatorOptions & { readonly tenant: string; readonly signal: AbortSignal },
  modules: OidcModules,
): OidcAuthenticator {
  const { tenant, signal, ...rest } = options;
  const { url, discoveryURL, certificateAuthority }: JwtConfiguration['issuer'] = rest.configuration.issuer;
  const keys = new IssuerKeys({ url, discoveryURL, certificateAuthority, tenant, signal }, modules);
  return new OidcAuthenticator(rest, { ...modules, keys });
}

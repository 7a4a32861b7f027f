import type { Clock } from '@multiplane/component-base';
import type { WebhookClient } from '../../webhooks/webhook-client.ts';
import { IssuerKeys } from './issuer-keys.ts';
import type { JwtConfiguration } from './jwt-configuration.ts';
import type { JwtExpressions } from './jwt-expressions.ts';
import { OidcAuthenticator, type OidcAuthenticatorOptions } from './oidc-authenticator.ts';

export interface OidcModules {
  /** Judges where issuers may be: whatever names one makes the server call there. */
  readonly client: WebhookClient;
  readonly expressions: JwtExpressions;
  readonly clock: Clock;
}

/** An authenticator for one validated configuration; it fetches nothing before the first token of its issuer. */
export function makeOidcAuthenticator(
  options: OidcAuthenticatorOptions & { readonly tenant: string; readonly signal: AbortSignal },
  modules: OidcModules,
): OidcAuthenticator {
  const { tenant, signal, ...rest } = options;
  const { url, discoveryURL, certificateAuthority }: JwtConfiguration['issuer'] = rest.configuration.issuer;
  const keys = new IssuerKeys({ url, discoveryURL, certificateAuthority, tenant, signal }, modules);
  return new OidcAuthenticator(rest, { ...modules, keys });
}

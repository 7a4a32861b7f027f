import { OptionError, type OptionValues } from '@multiplane/component-base';
import type { RequestAuthenticator } from './authenticator.ts';
import type { CertificateAuthorities } from './client-certificate.ts';
import type { requestHeaderOptionTable } from './request-header-options.ts';
import { RequestHeaderAuthenticator } from './request-header.ts';
import { X509Authenticator } from './x509-authenticator.ts';

type Options = Omit<OptionValues<typeof requestHeaderOptionTable>, 'requestheaderClientCaFile'>;

export interface CertificateAuthenticatorModules {
  /** CAs of user certificates; absent: no user certificate is accepted. */
  readonly users?: CertificateAuthorities | undefined;
  /** CAs of proxy certificates; absent: no proxy is trusted. */
  readonly proxies?: CertificateAuthorities | undefined;
  /** Time in milliseconds. */
  readonly now: () => number;
}

/** The authenticator for the flags `--requestheader-*`. Throws OptionError if every user certificate would be a proxy's. */
export function requestHeaderAuthenticator(
  options: Options,
  { users, proxies, now }: CertificateAuthenticatorModules,
): RequestHeaderAuthenticator {
  // Otherwise every user certificate would be trusted to assert any identity.
  const userAuthorities = new Set(users?.current().map(({ fingerprint256 }) => fingerprint256));
  if (
    options.requestheaderAllowedNames.length === 0 &&
    proxies?.current().some(({ fingerprint256 }) => userAuthorities.has(fingerprint256)) === true
  )
    throw new OptionError(
      '--requestheader-client-ca-file shares a CA with --client-ca-file: --requestheader-allowed-names is required',
    );
  return new RequestHeaderAuthenticator(
    {
      now,
      allowedNames: options.requestheaderAllowedNames,
      usernameHeaders: options.requestheaderUsernameHeaders,
      groupHeaders: options.requestheaderGroupHeaders,
      uidHeaders: options.requestheaderUidHeaders,
      extraHeadersPrefix: options.requestheaderExtraHeadersPrefix,
    },
    { authorities: proxies },
  );
}

/** The authenticators that use client certificates, in the required order: trusted proxies, then user certificates. */
export function certificateAuthenticators(
  options: Options,
  modules: CertificateAuthenticatorModules,
): readonly RequestAuthenticator[] {
  const requestHeader = requestHeaderAuthenticator(options, modules);
  if (modules.users === undefined) return [requestHeader];
  const certificates = new X509Authenticator({ now: modules.now }, { authorities: modules.users });
  return [
    requestHeader,
    {
      // A proxy's certificate authenticates the proxy, not a user.
      authenticate: (exchange) => (requestHeader.isProxy(exchange) ? undefined : certificates.authenticate(exchange)),
    },
  ];
}

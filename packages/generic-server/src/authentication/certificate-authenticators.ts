import { OptionError, type OptionValues } from '@multiplane/component-base';
import type { RequestAuthenticator } from './authenticator.ts';
import type { CertificateAuthorities } from './client-certificate.ts';
import type { requestHeaderOptionTable } from './request-header-options.ts';
import { RequestHeaderAuthenticator } from './request-header.ts';
import { X509Authenticator } from './x509-authenticator.ts';

type Options = Omit<OptionValues<typeof requestHeaderOptionTable>, 'requestheaderClientCaFile'>;

export interface CertificateAuthenticationModules {
  /** Who signs users; absent: nobody. */
  readonly users?: CertificateAuthorities | undefined;
  /** Who signs proxies that are believed about users; absent: nobody. */
  readonly proxies?: CertificateAuthorities | undefined;
  /** Time in milliseconds. */
  readonly now: () => number;
}

/** Proxies as the flags `--requestheader-*` name them. Throws OptionError where every user would be one of them. */
export function configuredRequestHeader(
  options: Options,
  { users, proxies, now }: CertificateAuthenticationModules,
): RequestHeaderAuthenticator {
  // Whoever may sign a user could else sign somebody who is believed about all users.
  const own = new Set(users?.current().map(({ fingerprint256 }) => fingerprint256));
  if (
    options.requestheaderAllowedNames.length === 0 &&
    proxies?.current().some(({ fingerprint256 }) => own.has(fingerprint256)) === true
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

/** What connections tell of who asks, in the order in which it must be asked (K7.2): trusted proxies, then certificates. */
export function certificateAuthentication(
  options: Options,
  modules: CertificateAuthenticationModules,
): readonly RequestAuthenticator[] {
  const requestHeader = configuredRequestHeader(options, modules);
  if (modules.users === undefined) return [requestHeader];
  const certificates = new X509Authenticator({ now: modules.now }, { authorities: modules.users });
  return [
    requestHeader,
    {
      // What a proxy shows opens a connection, it is nobody's credential.
      authenticate: (exchange) => (requestHeader.isProxy(exchange) ? undefined : certificates.authenticate(exchange)),
    },
  ];
}

import type { KeyObject } from 'node:crypto';
import { OptionError, type OptionValues } from '@multiplane/component-base';
import type { Exchange } from '../server/exchange.ts';
import type { AuthenticationResponse, RequestAuthenticator } from './authenticator.ts';
import type { CertificateAuthorities } from './client-certificate.ts';
import type { requestHeaderOptionTable } from './request-header-options.ts';
import { RequestHeaderAuthenticator } from './request-header.ts';
import { WorkspaceCertificateAuthenticator } from './workspace-certificates.ts';
import { X509Authenticator } from './x509-authenticator.ts';

type Options = Omit<OptionValues<typeof requestHeaderOptionTable>, 'requestheaderClientCaFile'>;

export interface CertificateAuthenticatorModules {
  /** CAs of user certificates; absent: no user certificate is accepted. */
  readonly users?: CertificateAuthorities | undefined;
  /** CAs of proxy certificates; absent: no proxy is trusted. */
  readonly proxies?: CertificateAuthorities | undefined;
  /** CAs of certificates that workspaces issued; absent: none is accepted. They must differ from the others. */
  readonly workspaces?: CertificateAuthorities | undefined;
  /** Time in milliseconds. */
  readonly now: () => number;
}

/** The authenticator for the flags `--requestheader-*`. Throws OptionError if every user certificate would be a proxy's. */
export function requestHeaderAuthenticator(
  options: Options,
  { users, proxies, workspaces, now }: CertificateAuthenticatorModules,
): RequestHeaderAuthenticator {
  checkWorkspaceAuthorities({ users, proxies, workspaces });
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
  const { users, workspaces, now } = modules;
  const certificates = [
    ...(users === undefined ? [] : [new X509Authenticator({ now }, { authorities: users })]),
    ...(workspaces === undefined ? [] : [new WorkspaceCertificateAuthenticator({ now }, { authorities: workspaces })]),
  ];
  return [requestHeader, ...certificates.map((authenticator) => exceptOfProxies(requestHeader, authenticator))];
}

/** A proxy's certificate authenticates the proxy: for other authenticators it is no credential, and not an invalid one. */
export function exceptOfProxies(
  requestHeader: RequestHeaderAuthenticator,
  certificates: { readonly authenticate: (exchange: Exchange) => AuthenticationResponse | undefined },
): { readonly authenticate: (exchange: Exchange) => AuthenticationResponse | undefined } {
  return {
    authenticate: (exchange) => (requestHeader.isProxy(exchange) ? undefined : certificates.authenticate(exchange)),
  };
}

/** Throws OptionError if a CA that signs what tenants ask for is trusted for users of the whole control plane or for proxies. */
function checkWorkspaceAuthorities({
  users,
  proxies,
  workspaces,
}: Pick<CertificateAuthenticatorModules, 'users' | 'proxies' | 'workspaces'>): void {
  const others = [...(users?.current() ?? []), ...(proxies?.current() ?? [])];
  const keys = new Set(others.map(({ publicKey }) => keyText(publicKey)));
  if (workspaces?.current().some(({ publicKey }) => keys.has(keyText(publicKey))) === true)
    throw new OptionError(
      'the CA of --cluster-signing-cert-file or --workspace-client-ca-file signs what administrators of workspaces ask for: it must not be in --client-ca-file or --requestheader-client-ca-file',
    );
}

const keyText = (key: KeyObject): string => key.export({ type: 'spki', format: 'der' }).toString('base64');

import { writeFileSync } from 'node:fs';
import type { TempDir } from '@multiplane/testing';
import type { OidcProvider } from './oidc-provider.ts';

/**
 * Writes the configuration of a console with these issuers (id → display name), all of them the same provider. Returns the flags of the
 * console, and those by which the API server trusts the provider's tokens.
 */
export function configureIssuers(
  directory: TempDir,
  provider: OidcProvider,
  issuers: Readonly<Record<string, string>>,
): { readonly consoleFlags: string[]; readonly oidcFlags: string[] } {
  writeFileSync(directory.join('issuer.crt'), provider.ca);
  writeFileSync(directory.join('secret'), provider.clientSecret);
  const configuration = {
    apiVersion: 'console.multiplane.io/v1alpha1',
    kind: 'ConsoleConfiguration',
    issuers: Object.entries(issuers).map(([id, displayName]) => ({
      id,
      displayName,
      issuerURL: provider.url,
      clientID: provider.clientId,
      clientSecretFile: 'secret',
      certificateAuthorityFile: 'issuer.crt',
    })),
  };
  writeFileSync(directory.join('console.yaml'), JSON.stringify(configuration));
  return {
    consoleFlags: [`--console-config-file=${directory.join('console.yaml')}`],
    oidcFlags: [
      `--oidc-issuer-url=${provider.url}`,
      `--oidc-client-id=${provider.clientId}`,
      `--oidc-ca-file=${directory.join('issuer.crt')}`,
      '--oidc-username-prefix=-',
      '--oidc-signing-algs=ES256',
    ],
  };
}

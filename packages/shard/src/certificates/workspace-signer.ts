import { errorText } from '@multiplane/apimachinery';
import type { Certificate, Clock, Watched } from '@multiplane/component-base';
import type { CertificateAuthority } from '@multiplane/component-base/pki';
import { UnsignableRequestError, type SignClientRequest } from '@multiplane/controllers';
import { logicalClusterUri } from '@multiplane/generic-server';

/** Loaded when the first request is signed: the library takes a tenth of a second to load. */
const loadIssuing = () => import('@multiplane/component-base/pki');

/** As in kube-controller-manager: twice the time by which certificates are valid before they are issued. */
const minSeconds = 600;
const keyUsages = ['digital signature', 'key encipherment'] as const;

/**
 * Signs client certificates for the administrators of workspaces. They choose the subject, so the CA is one that nothing else
 * trusts, and the certificate names the logical cluster, in which alone it authenticates. A user or group of the system is
 * refused, because it would be without effect.
 */
export function workspaceSigner(
  options: { /** The longest lifetime of a certificate, in milliseconds. */ readonly clusterSigningDuration: number },
  modules: { readonly pair: Watched<Certificate>; readonly clock: Clock },
): SignClientRequest {
  const { pair, clock } = modules;
  const maxSeconds = Math.floor(options.clusterSigningDuration / 1000);
  let loaded: { readonly pem: Certificate; readonly authority: Promise<CertificateAuthority> } | undefined;
  const authority = async (): Promise<CertificateAuthority> => {
    if (loaded?.pem !== pair.current) {
      const pem = pair.current;
      loaded = { pem, authority: loadIssuing().then((pki) => pki.CertificateAuthority.load(pem, { clock })) };
    }
    return loaded.authority;
  };
  return async ({ cluster, requestPem, usages, expirationSeconds = maxSeconds }) => {
    const issuer = await authority();
    try {
      return await issuer.signClientRequest(requestPem, {
        uri: `${logicalClusterUri}${cluster}`,
        keyUsages: keyUsages.filter((usage) => usages.includes(usage)),
        seconds: Math.min(maxSeconds, Math.max(minSeconds, expirationSeconds)),
        checkSubject,
      });
    } catch (error) {
      throw new UnsignableRequestError(errorText(error), { cause: error });
    }
  };
}

function checkSubject({ commonName, organizations }: { commonName: string; organizations: readonly string[] }): void {
  if (commonName === '') throw new Error('the subject has no common name, which is the name of the user');
  const reserved = [commonName, ...organizations].find((name) => name.startsWith('system:'));
  if (reserved !== undefined)
    throw new Error(`a workspace cannot issue certificates for ${JSON.stringify(reserved)}: system: is reserved`);
}

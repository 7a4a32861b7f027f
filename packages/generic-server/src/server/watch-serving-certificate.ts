import {
  checkPair,
  parseCertificates,
  type CertificateFiles,
  type CertificateWatcher,
  type Watched,
} from '@multiplane/component-base';
import type { ServingCertificate } from './http-server.ts';

export interface ServingCertificateFiles extends CertificateFiles {
  /** All CA bundles of client certificates that the server accepts. */
  readonly clientCaFiles: readonly string[];
}

/**
 * The serving certificate and the names of accepted client CAs, reloaded when their files change. The caller passes
 * `current` to the listener and `reloadCertificate` to `onChange`: new handshakes use the new certificate, existing
 * connections continue.
 */
export function watchServingCertificate(
  { certificateFile, privateKeyFile, clientCaFiles }: ServingCertificateFiles,
  modules: { readonly watcher: CertificateWatcher },
): Watched<ServingCertificate> {
  return modules.watcher.watch(certificateFile, (readText) => ({
    ...checkPair(
      { certificatePem: readText(certificateFile), privateKeyPem: readText(privateKeyFile) },
      { certificateFile, privateKeyFile },
    ),
    clientCa: clientCaFiles.map((file) => {
      const bundle = readText(file);
      parseCertificates(bundle, file);
      return bundle;
    }),
  }));
}

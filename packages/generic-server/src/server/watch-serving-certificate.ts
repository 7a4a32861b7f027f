import {
  checkPair,
  parseCertificates,
  type CertificateFiles,
  type CertificateWatcher,
  type Watched,
} from '@multiplane/component-base';
import type { ServingCertificate } from './http-server.ts';

export interface ServingCertificateFiles extends CertificateFiles {
  /** Every bundle whose client certificates somebody behind this listener accepts (C11.4). */
  readonly clientCaFiles: readonly string[];
}

/**
 * What a listener shows and asks for, as its files say. Whoever starts the listener passes `current` to it and
 * `reloadCertificate` to `onChange`: handshakes after a change use the new certificate, connections go on.
 */
export function watchServingCertificate(
  { certificateFile, privateKeyFile, clientCaFiles }: ServingCertificateFiles,
  modules: { readonly watcher: CertificateWatcher },
): Watched<ServingCertificate> {
  return modules.watcher.watch(certificateFile, (readText) => ({
    ...checkPair(
      { certificatePem: readText(certificateFile), privateKeyPem: readText(privateKeyFile) },
      certificateFile,
    ),
    clientCa: clientCaFiles.map((file) => {
      const bundle = readText(file);
      parseCertificates(bundle, file);
      return bundle;
    }),
  }));
}

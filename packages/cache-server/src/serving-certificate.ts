import { ensureServingCertificate, type Logger, servingHosts, type CertificateFiles } from '@multiplane/component-base';
import type { CacheServerOptions } from './options.ts';

/** The certificate files of the flags, or a self-signed pair created below the root directory. */
export async function servingCertificateFiles(
  options: CacheServerOptions,
  { logger }: { readonly logger: Pick<Logger, 'warn'> },
): Promise<CertificateFiles> {
  const { rootDirectory, tlsCertFile, tlsPrivateKeyFile } = options;
  if (tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined)
    return { certificateFile: tlsCertFile, privateKeyFile: tlsPrivateKeyFile };
  return ensureServingCertificate(
    { folder: rootDirectory, name: 'cache-server', hosts: servingHosts(options) },
    { warn: logger.warn.bind(logger) },
  );
}

import type { CertificateWatcher } from '@multiplane/component-base';
import type { UpstreamIdentitySource } from '@multiplane/reverse-proxy';
import type { ShardOptions } from '../options.ts';

/** TLS identity towards an external virtual workspace server; follows its files. */
export function servicesIdentity(
  options: ShardOptions,
  modules: { readonly certificates: CertificateWatcher; readonly rootCa: () => string },
): UpstreamIdentitySource {
  const { shardVirtualWorkspaceCaFile, shardClientCertFile, shardClientKeyFile } = options;
  return modules.certificates.watch('virtual workspace proxy', (read) => ({
    ca: shardVirtualWorkspaceCaFile === undefined ? modules.rootCa() : read(shardVirtualWorkspaceCaFile),
    ...(shardClientCertFile === undefined || shardClientKeyFile === undefined
      ? {}
      : { cert: read(shardClientCertFile), key: read(shardClientKeyFile) }),
  }));
}

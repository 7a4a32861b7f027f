import type { CertificateWatcher } from '@multiplane/component-base';
import type { UpstreamIdentitySource } from '@multiplane/reverse-proxy';
import type { ShardOptions } from '../options.ts';

/** Who this shard is to the virtual workspaces outside of it, as the files say now (C12.8). */
export function servicesIdentity(
  options: ShardOptions,
  modules: { readonly certificates: CertificateWatcher; readonly rootCa: () => string },
): UpstreamIdentitySource {
  const { shardVirtualWorkspaceCaFile, shardClientCertFile, shardClientKeyFile } = options;
  return modules.certificates.watch('way to the virtual workspaces', (read) => ({
    ca: shardVirtualWorkspaceCaFile === undefined ? modules.rootCa() : read(shardVirtualWorkspaceCaFile),
    ...(shardClientCertFile === undefined || shardClientKeyFile === undefined
      ? {}
      : { cert: read(shardClientCertFile), key: read(shardClientKeyFile) }),
  }));
}

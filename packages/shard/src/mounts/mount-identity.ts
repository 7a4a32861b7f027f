import { rootCertificates } from 'node:tls';
import type { CertificateWatcher } from '@multiplane/component-base';
import type { UpstreamIdentitySource } from '@multiplane/reverse-proxy';
import type { ShardOptions } from '../options.ts';

/**
 * Who this shard is to what workspaces are mounted from, and whom it believes there: authorities that everybody knows, and
 * its own. The reference believes anybody.
 */
export function mountIdentity(
  options: ShardOptions,
  modules: { readonly certificates: CertificateWatcher; readonly rootCa: () => string },
): UpstreamIdentitySource {
  const { mountProxyClientCertFile, mountProxyClientKeyFile } = options;
  return modules.certificates.watch('way to mounts', (read) => ({
    ca: [modules.rootCa(), ...rootCertificates],
    ...(mountProxyClientCertFile === undefined || mountProxyClientKeyFile === undefined
      ? {}
      : { cert: read(mountProxyClientCertFile), key: read(mountProxyClientKeyFile) }),
  }));
}

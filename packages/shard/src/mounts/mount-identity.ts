import { rootCertificates } from 'node:tls';
import type { CertificateWatcher } from '@multiplane/component-base';
import type { UpstreamIdentitySource } from '@multiplane/reverse-proxy';
import type { ShardOptions } from '../options.ts';

/**
 * TLS identity towards mount targets: the client certificate of `--mount-proxy-client-cert-file`, the public root CAs and the
 * shard's own CA. kcp does not verify the target's certificate.
 */
export function mountIdentity(
  options: ShardOptions,
  modules: { readonly certificates: CertificateWatcher; readonly rootCa: () => string },
): UpstreamIdentitySource {
  const { mountProxyClientCertFile, mountProxyClientKeyFile } = options;
  return modules.certificates.watch('mount proxy', (read) => ({
    ca: [modules.rootCa(), ...rootCertificates],
    ...(mountProxyClientCertFile === undefined || mountProxyClientKeyFile === undefined
      ? {}
      : { cert: read(mountProxyClientCertFile), key: read(mountProxyClientKeyFile) }),
  }));
}

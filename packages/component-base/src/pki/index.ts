/** Issuing certificates. A separate entry point, because its library takes a tenth of a second to load. */
export type { CertificateAuthorityModules } from './certificate-authority.ts';
export type { ClientKeyUsage } from './certificate-authority.ts';
export { CertificateAuthority } from './certificate-authority.ts';
export type { CertificateFiles } from './certificate.ts';
export { ensureAuthority, writeCertificate } from './stored-authority.ts';
export { readPair } from './stored-pair.ts';
export type { AuthorityName, ClusterPkiOptions } from './cluster-plan.ts';
export { authorityNames, validateClusterPkiOptions } from './cluster-plan.ts';
export type { ClusterPkiModules, PkiState } from './cluster-pki.ts';
export { authorityFiles, initClusterPki, pairFiles } from './cluster-pki.ts';

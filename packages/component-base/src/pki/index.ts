/** Making certificates, apart from the rest: its library takes a tenth of a second to load, and most starts make none. */
export type { CertificateAuthorityModules } from './certificate-authority.ts';
export { CertificateAuthority } from './certificate-authority.ts';
export type { CertificateFiles } from './certificate.ts';
export { ensureAuthority, readCertificate, writeCertificate } from './stored-authority.ts';

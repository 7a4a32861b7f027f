/** What every process needs: options, logging, metrics, health, lifecycle, clock, backoff, PKI. */
export type { Clock, Timer } from './clock/clock.ts';
export { systemClock } from './clock/clock.ts';
export { FakeClock } from './clock/fake-clock.ts';
export { writeFileAtomic } from './files/write-file-atomic.ts';
export type { Certificate, ClientIdentity, ServerIdentity } from './pki/certificate.ts';
export { CertificateAuthority } from './pki/certificate-authority.ts';
export type { CertificateFiles } from './pki/stored-authority.ts';
export { ensureAuthority, readCertificate, writeCertificate } from './pki/stored-authority.ts';

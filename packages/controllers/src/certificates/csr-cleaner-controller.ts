import { X509Certificate } from 'node:crypto';
import type { DeepReadonly } from '@multiplane/apimachinery';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons } from '../runtime/object-writes.ts';
import { certificateSigningRequests, type CertificateSigningRequest } from './certificate-signing-request.ts';

const hour = 60 * 60 * 1000;
const decidedMs = hour;
const pendingMs = 24 * hour;

/**
 * Deletes old CertificateSigningRequests (Kubernetes: pkg/controller/certificates/cleaner): an hour after one was issued, denied or
 * failed; a day after one was created or approved and nothing followed; and when the issued certificate has expired.
 */
export function csrCleanerController(modules: ControllerModules): Controller {
  const { informers, client, clock } = modules;
  const lister = informers.informer<CertificateSigningRequest>(certificateSigningRequests);
  const controller: Controller = new Controller({ name: 'csr-cleaner', reconcile }, modules);
  lister.addHandlers({
    added: (_csr, reference) => controller.queue.add(keyOf(reference), true),
    updated: (_csr, _old, reference) => controller.queue.add(keyOf(reference), true),
  });

  async function reconcile(key: string): Promise<number | void> {
    const reference = referenceOf(key);
    const csr = lister.get(reference);
    if (csr === undefined || csr.metadata.deletionTimestamp !== undefined) return;
    const dueIn = expiryOf(csr) - clock.now();
    if (dueIn > 0) return Number.isFinite(dueIn) ? dueIn : undefined;
    const preconditions = { uid: csr.metadata.uid ?? '', resourceVersion: csr.metadata.resourceVersion };
    await ignoreReasons(['NotFound'], () => client.delete(certificateSigningRequests, reference, { preconditions }));
  }
  return controller;
}

/** When the request is deleted, in milliseconds since the epoch. */
function expiryOf({ metadata, status }: DeepReadonly<CertificateSigningRequest>): number {
  const { conditions = [], certificate = '' } = status ?? {};
  const times = conditions.flatMap(({ type, lastUpdateTime }) => {
    const time = Date.parse(lastUpdateTime ?? '');
    if (Number.isNaN(time)) return [];
    if (type === 'Denied' || type === 'Failed') return [time + decidedMs];
    return type === 'Approved' ? [time + (certificate === '' ? pendingMs : decidedMs)] : [];
  });
  if (conditions.length === 0) times.push(Date.parse(metadata.creationTimestamp ?? '') + pendingMs);
  if (certificate !== '') times.push(notAfter(certificate));
  return Math.min(...times.filter((time) => !Number.isNaN(time)));
}

/** NaN for a certificate that cannot be read: signers of others write what they like. */
function notAfter(certificate: string): number {
  try {
    return Date.parse(new X509Certificate(Buffer.from(certificate, 'base64')).validTo);
  } catch {
    return Number.NaN;
  }
}

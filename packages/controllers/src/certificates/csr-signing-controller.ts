import {
  errorText,
  formatTime,
  type DeepReadonly,
  type JsonObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons, updateStatus } from '../runtime/object-writes.ts';
import { certificateSigningRequests, type CertificateSigningRequest } from './certificate-signing-request.ts';

const clientSignerName = 'kubernetes.io/kube-apiserver-client';

/** The request cannot be signed, now or later. */
export class UnsignableRequestError extends Error {
  override readonly name = 'UnsignableRequestError';
}

export interface ClientSigningRequest {
  readonly cluster: LogicalClusterName;
  readonly requestPem: string;
  readonly usages: readonly string[];
  readonly expirationSeconds: number | undefined;
}

/** Returns the certificate (PEM). Throws {@link UnsignableRequestError} for a request that must fail. */
export type SignClientRequest = (request: ClientSigningRequest) => Promise<string>;

const optionalUsages = new Set(['digital signature', 'key encipherment']);

/**
 * Signs approved CertificateSigningRequests of the client signer (Kubernetes: pkg/controller/certificates/signer). Requests of
 * other signers are left to their controllers; one that cannot be signed gets the condition `Failed`.
 */
export function csrSigningController(modules: ControllerModules & { readonly sign: SignClientRequest }): Controller {
  const { informers, client, clock, sign } = modules;
  const lister = informers.informer<CertificateSigningRequest>(certificateSigningRequests);
  const controller: Controller = new Controller({ name: 'csr-signing', reconcile }, modules);
  lister.addHandlers({
    added: (csr, reference, isInInitialList) => {
      if (isToBeSigned(csr)) controller.queue.add(keyOf(reference), isInInitialList);
    },
    updated: (csr, _old, reference) => {
      if (isToBeSigned(csr)) controller.queue.add(keyOf(reference));
    },
  });

  async function reconcile(key: string): Promise<void> {
    const reference = referenceOf(key);
    const csr = lister.get(reference);
    if (csr === undefined || !isToBeSigned(csr)) return;
    const { request = '', usages = [], expirationSeconds } = csr.spec ?? {};
    const write = (status: object): Promise<void> =>
      ignoreReasons(['NotFound'], () =>
        updateStatus(client, certificateSigningRequests, reference.cluster, csr, {
          ...csr.status,
          ...status,
        } as unknown as JsonObject),
      );
    let certificate: string;
    try {
      checkUsages(usages);
      certificate = await sign({
        cluster: reference.cluster,
        requestPem: Buffer.from(request, 'base64').toString('latin1'),
        usages,
        expirationSeconds: expirationSeconds === undefined ? undefined : Number(expirationSeconds),
      });
    } catch (error) {
      if (!(error instanceof UnsignableRequestError)) throw error;
      const failed = {
        type: 'Failed',
        status: 'True',
        reason: 'SignerValidationFailure',
        message: errorText(error),
        lastUpdateTime: formatTime(new Date(clock.now())),
      };
      await write({ conditions: [...(csr.status?.conditions ?? []), failed] });
      return;
    }
    await write({ certificate: Buffer.from(certificate).toString('base64') });
  }
  return controller;
}

function isToBeSigned({ spec, status }: DeepReadonly<CertificateSigningRequest>): boolean {
  const has = (type: string): boolean =>
    status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
  return (
    spec?.signerName === clientSignerName &&
    (status?.certificate ?? '') === '' &&
    has('Approved') &&
    !has('Denied') &&
    !has('Failed')
  );
}

function checkUsages(usages: readonly string[]): void {
  for (const usage of usages)
    if (usage !== 'client auth' && !optionalUsages.has(usage))
      throw new UnsignableRequestError(`invalid usage for client certificate: ${usage}`);
  if (!usages.includes('client auth'))
    throw new UnsignableRequestError('missing required usage for client certificate: client auth');
}

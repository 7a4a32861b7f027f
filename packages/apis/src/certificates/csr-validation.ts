import { X509Certificate } from 'node:crypto';
import {
  deepEqual,
  fieldErrors,
  FieldPath,
  type DeepReadonly,
  type FieldError,
  type Json,
  type KubeObject,
} from '@multiplane/apimachinery';
import { at, listAt, numberAt, textAt, textsAt } from '../fields.ts';
import { derSequenceProblem, pemBlocks } from './pem.ts';
import { signerNameErrors } from './signer-name.ts';

const usages = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];
const legacySigner = 'kubernetes.io/legacy-unknown';
const minExpirationSeconds = 600;
/** Conditions that say what became of the request: they are True or absent, and stay. */
const verdicts = ['Approved', 'Denied', 'Failed'];

/** Rules of a request as it is. */
export function csrErrors(csr: DeepReadonly<KubeObject>): FieldError[] {
  const path = FieldPath.of('spec');
  const errors: FieldError[] = [];
  const request = textAt(csr, 'spec', 'request');
  const problem = requestProblem(request);
  if (problem !== undefined)
    errors.push(fieldErrors.invalid(path.child('request'), at(csr, 'spec', 'request') ?? null, problem));
  const wanted = textsAt(csr, 'spec', 'usages');
  if (wanted.length === 0) errors.push(fieldErrors.required(path.child('usages')));
  for (const [index, usage] of wanted.entries()) {
    if (!usages.includes(usage))
      errors.push(fieldErrors.notSupported(path.child('usages').index(index), usage, usages));
  }
  for (const [index, usage] of wanted.entries()) {
    if (wanted.indexOf(usage) < index) errors.push(fieldErrors.duplicate(path.child('usages').index(index), usage));
  }
  const signer = textAt(csr, 'spec', 'signerName');
  if (signer === legacySigner) {
    const detail = 'the legacy signerName is not allowed via this API version';
    errors.push(fieldErrors.invalid(path.child('signerName'), signer, detail));
  } else {
    errors.push(...signerNameErrors(signer, path.child('signerName')));
  }
  const expiration = numberAt(csr, 'spec', 'expirationSeconds');
  if (expiration !== undefined && expiration < minExpirationSeconds) {
    const detail = 'may not specify a duration less than 600 seconds (10 minutes)';
    errors.push(fieldErrors.invalid(path.child('expirationSeconds'), expiration, detail));
  }
  errors.push(...conditionErrors(listAt(csr, 'status', 'conditions'), FieldPath.of('status', 'conditions')));
  const certificate = certificateProblem(textAt(csr, 'status', 'certificate'));
  if (certificate !== undefined) {
    errors.push(fieldErrors.invalid('status.certificate', '<certificate data>', certificate));
  }
  return errors;
}

function requestProblem(base64: string): string | undefined {
  const [first] = pemBlocks(Buffer.from(base64, 'base64').toString('latin1'));
  if (first?.type !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST';
  return derSequenceProblem(first.bytes);
}

function certificateProblem(base64: string): string | undefined {
  if (base64 === '') return undefined;
  const blocks = pemBlocks(Buffer.from(base64, 'base64').toString('latin1'));
  for (const { type, hasHeaders, bytes } of blocks) {
    if (type !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    if (hasHeaders) return 'no PEM block headers are permitted';
    try {
      void new X509Certificate(bytes);
    } catch {
      return derSequenceProblem(bytes) ?? 'x509: malformed certificate';
    }
  }
  return blocks.length === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined;
}

function conditionErrors(conditions: readonly Json[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [index, condition] of conditions.entries()) {
    const where = path.index(index);
    const type = textAt(condition, 'type');
    const status = textAt(condition, 'status');
    const allowed = verdicts.includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
    if (type === '') errors.push(fieldErrors.required(where.child('type')));
    if (status === '') errors.push(fieldErrors.required(where.child('status')));
    else if (!allowed.includes(status)) errors.push(fieldErrors.notSupported(where.child('status'), status, allowed));
    if ((type === 'Approved' && seen.has('Denied')) || (type === 'Denied' && seen.has('Approved'))) {
      errors.push(fieldErrors.invalid(path, type, 'Approved and Denied conditions are mutually exclusive'));
    }
    if (seen.has(type)) errors.push(fieldErrors.duplicate(where.child('type'), type));
    seen.add(type);
  }
  return errors;
}

interface CsrChange {
  /** Approved and Denied may come and change. */
  readonly approval?: boolean;
  /** A certificate may come, once. */
  readonly certificate?: boolean;
}

/** What an update may do to conditions and certificate, by the endpoint it came through. */
export function csrChangeErrors(
  csr: DeepReadonly<KubeObject>,
  old: DeepReadonly<KubeObject>,
  change: CsrChange,
): FieldError[] {
  const errors: FieldError[] = [];
  const path = FieldPath.of('status', 'conditions');
  const of = (object: DeepReadonly<KubeObject>, type: string): readonly Json[] =>
    listAt(object, 'status', 'conditions').filter((condition) => textAt(condition, 'type') === type);
  const refuse = (verb: string, type: string): void =>
    void errors.push(
      fieldErrors.forbidden(path, `updates may not ${verb} a condition of type ${JSON.stringify(type)}`),
    );
  for (const type of verdicts) if (of(csr, type).length < of(old, type).length) refuse('remove', type);
  if (change.approval !== true) {
    for (const type of ['Approved', 'Denied']) {
      const [now, before] = [of(csr, type), of(old, type)];
      if (now.length > before.length) refuse('add', type);
      else if (now.length === before.length && !deepEqual([...now], [...before])) refuse('modify', type);
    }
  }
  const before = textAt(old, 'status', 'certificate');
  if (textAt(csr, 'status', 'certificate') !== before) {
    if (change.certificate !== true) {
      errors.push(fieldErrors.forbidden('status.certificate', 'updates may not set certificate content'));
    } else if (before !== '') {
      errors.push(fieldErrors.forbidden('status.certificate', 'updates may not modify existing certificate content'));
    }
  }
  return errors;
}

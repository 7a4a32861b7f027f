import type { Condition, KubeObject } from '../data/kube-object.ts';
import type { Tone } from './tone.ts';

export interface CertificateRequest extends KubeObject {
  readonly spec: { readonly signerName: string; readonly username?: string };
  readonly status?: { readonly certificate?: string; readonly conditions?: readonly Condition[] };
}

/** As `kubectl get csr` writes it, in one word. */
export function requestState({ status }: CertificateRequest): { readonly tone: Tone; readonly text: string } {
  const types = new Set((status?.conditions ?? []).map(({ type }) => type));
  if (types.has('Denied')) return { tone: 'bad', text: 'Denied' };
  if (types.has('Failed')) return { tone: 'bad', text: 'Failed' };
  if (status?.certificate !== undefined && status.certificate !== '') return { tone: 'good', text: 'Issued' };
  return types.has('Approved') ? { tone: 'info', text: 'Approved' } : { tone: 'warn', text: 'Waits for approval' };
}

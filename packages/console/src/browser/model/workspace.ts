import type { Condition, KubeObject } from '../data/kube-object.ts';

/** A Workspace of `tenancy.kcp.io/v1alpha1`. */
export interface Workspace extends KubeObject {
  readonly spec?: {
    readonly cluster?: string;
    readonly URL?: string;
    readonly type?: { readonly name: string; readonly path?: string };
    readonly mount?: { readonly ref: { readonly kind: string; readonly name: string } };
  };
  readonly status?: {
    readonly phase?: string;
    readonly initializers?: readonly string[];
    readonly terminators?: readonly string[];
    readonly conditions?: readonly Condition[];
  };
}

/** What the tree shows of its state: a workspace that goes away is Deleting, whatever its phase. */
export const phaseOf = ({ metadata, status }: Workspace): string =>
  metadata.deletionTimestamp === undefined ? (status?.phase ?? 'Scheduling') : 'Deleting';

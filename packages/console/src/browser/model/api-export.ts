import type { Condition, KubeObject } from '../data/kube-object.ts';

/** What a provider asks for in the workspaces of its consumers. */
export interface PermissionClaim {
  readonly group?: string;
  readonly resource: string;
  readonly verbs?: readonly string[];
  readonly identityHash?: string;
  readonly objects?: {
    readonly names?: readonly string[];
    readonly namespaces?: readonly string[];
    readonly fieldSelector?: string;
    readonly references?: readonly { readonly resource: string; readonly path: string }[];
  };
  readonly subresources?: readonly string[];
  readonly defaultSelector?: unknown;
}

/** An APIExport of `apis.kcp.io/v1alpha2`. */
export interface ApiExport extends KubeObject {
  readonly spec?: {
    readonly resources?: readonly { readonly group: string; readonly name: string; readonly schema: string }[];
    readonly permissionClaims?: readonly PermissionClaim[];
    readonly maximalPermissionPolicy?: unknown;
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface AcceptableClaim extends PermissionClaim {
  readonly selector?: unknown;
  readonly state: 'Accepted' | 'Rejected';
}

/** An APIBinding of `apis.kcp.io/v1alpha2`. */
export interface ApiBinding extends KubeObject {
  readonly spec?: {
    readonly reference?: { readonly export?: { readonly path?: string; readonly name?: string } };
    readonly permissionClaims?: readonly AcceptableClaim[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly Condition[];
    readonly boundResources?: readonly { readonly group: string; readonly resource: string }[];
    readonly exportPermissionClaims?: readonly PermissionClaim[];
  };
}

/** An APIResourceSchema of `apis.kcp.io/v1alpha1`. */
export interface ApiResourceSchema extends KubeObject {
  readonly spec?: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly scope: string;
    readonly versions?: readonly { readonly name: string; readonly served?: boolean; readonly schema?: unknown }[];
  };
}

/** An export as the catalogue shows it. */
export interface CatalogueEntry {
  /** The path of the workspace of its provider. */
  readonly provider: string;
  readonly export: ApiExport;
}

export const isBindingOf = ({ spec }: ApiBinding, provider: string, name: string): boolean =>
  spec?.reference?.export?.path === provider && spec.reference.export.name === name;

import {
  isConditionTrue,
  base62,
  base62Sha224,
  encodeJson,
  type DeepReadonly,
  type GroupVersionResource,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import type { Endpoint } from './endpoint.ts';

/*
 * The objects through which APIs are shared, as controllers, admission and virtual workspaces see them, and the
 * hashes by which they find each other.
 */

const ofApis = (version: string, resource: string): GroupVersionResource => ({
  group: 'apis.kcp.io',
  version,
  resource,
});
export const apiExports = ofApis('v1alpha2', 'apiexports');
export const apiBindings = ofApis('v1alpha2', 'apibindings');
export const apiResourceSchemas = ofApis('v1alpha1', 'apiresourceschemas');
export const apiConversions = ofApis('v1alpha1', 'apiconversions');
export const apiExportEndpointSlices = ofApis('v1alpha1', 'apiexportendpointslices');

/** Keeps the slice of the same name from being made. */
export const skipEndpointSliceAnnotation = 'apiexports.apis.kcp.io/skip-endpointslice';
/** What of an export's annotations its bindings get, too. */
export const extraAnnotationPrefix = 'extra.apis.kcp.io/';
/** On a binding: which export it is of, as {@link exportLabelValue}. */
export const exportLabel = 'internal.apis.kcp.io/export';
/** On a claimed object, followed by {@link exportLabelValue} of who claims it; says which claim by {@link claimLabelValue}. */
export const claimLabelPrefix = 'claimed.internal.apis.kcp.io/';
/**
 * On a claimed object beside the label of the claim, where its consumer keeps verbs over all logical clusters from who
 * claims it; says which by {@link withheldLabelValue}. The views' wildcard requests leave such objects out by a selector:
 * bytes still pass untouched, and consumers who keep nothing back (all but few) cost nothing.
 */
export const withheldLabelPrefix = 'withheld.internal.apis.kcp.io/';
export const apiBindingFinalizer = 'apis.kcp.io/apibinding-finalizer';
/** On a LogicalCluster: which binding or definition has the name of a resource. */
export const resourceBindingsAnnotation = 'internal.apis.kcp.io/resource-bindings';

/** Where the definitions lie that are made of bound schemas; each has the uid of its schema as its name. */
export const boundDefinitionsCluster = 'system:bound-crds';
export const boundDefinitionAnnotation = 'apis.kcp.io/bound-crd';
export const schemaClusterAnnotation = 'apis.kcp.io/schema-cluster';
export const schemaNameAnnotation = 'apis.kcp.io/schema-name';
/** On a bound definition whose objects may have any segment of a path as their name: `path-segment`. */
export const nameValidationAnnotation = 'internal.apis.kcp.io/name-validation';
/** On a bound definition: `spec.conversions` of the APIConversion of its schema, as JSON. */
export const conversionsAnnotation = 'internal.apis.kcp.io/conversions';
/**
 * On a bound definition: identities, joined by commas, whose exports have a maximal permission policy. It is what is left
 * of the policy when the export is gone and bindings are still there.
 */
export const policedIdentitiesAnnotation = 'internal.apis.kcp.io/policed-identities';

/** kcp's condition: like metav1's, with a severity, and no reason while True. */
export interface KcpCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  severity?: 'Error' | 'Warning' | 'Info' | '';
  lastTransitionTime?: string;
  reason?: string;
  message?: string;
}

export interface ClaimSelector {
  matchAll?: boolean;
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** Where objects of an export name the objects that it claims. */
export interface ClaimReference {
  /** A resource of the export that claims. */
  group?: string;
  resource: string;
  /** JSONPath to names (`.spec.secretName`) or to objects with `name` and `namespace` (`.spec.secretRefs[*]`). */
  path: string;
  /** Whether objects in namespaces may name objects of others. */
  otherNamespaces?: boolean;
}

/** Which objects of a claimed resource are meant; whatever is set must hold. kcp has only label selectors. */
export interface ClaimedObjects {
  names?: string[];
  namespaces?: string[];
  /** As in list requests; of the fields that the resource selects by. */
  fieldSelector?: string;
  /** The object is named by an object of the export, through any of these. */
  references?: ClaimReference[];
}

/** What an export asks for beyond its own resources. */
export interface PermissionClaim {
  group?: string;
  resource: string;
  verbs: string[];
  identityHash?: string;
  defaultSelector?: ClaimSelector;
  objects?: ClaimedObjects;
  /** The subresources that the verbs are for, besides the objects themselves; absent: all. */
  subresources?: string[];
}

/** What of it applies in a logical cluster. */
export interface ScopedPermissionClaim extends Omit<PermissionClaim, 'defaultSelector'> {
  selector?: ClaimSelector;
}

/** What a binding says to it. */
export interface AcceptablePermissionClaim extends ScopedPermissionClaim {
  state?: 'Accepted' | 'Rejected';
}

export interface ExportedResource {
  name: string;
  group?: string;
  /** Name of the APIResourceSchema, in the logical cluster of the export. */
  schema: string;
  storage?: {
    crd?: JsonObject;
    virtual?: { reference: { apiGroup?: string; kind: string; name: string }; identityHash?: string };
  };
}

export type APIExport = KubeObject & {
  spec?: {
    resources?: ExportedResource[];
    identity?: { secretRef?: { name?: string; namespace?: string } };
    maximalPermissionPolicy?: { local?: JsonObject };
    permissionClaims?: PermissionClaim[];
  };
  status?: {
    identityHash?: string;
    conditions?: KcpCondition[];
    /** Where virtual resources are served whose endpoint slice is of a kind of the provider. */
    virtualResources?: { group: string; name: string; endpoints: Endpoint[] }[];
    virtualWorkspaces?: { url: string }[];
  };
};

export interface BoundResource {
  group: string;
  resource: string;
  schema: { name: string; UID: string; identityHash: string };
  storageVersions?: string[];
}

export type APIBinding = KubeObject & {
  spec?: {
    reference?: { export?: { path?: string; name?: string } };
    permissionClaims?: AcceptablePermissionClaim[];
  };
  status?: {
    apiExportClusterName?: string;
    boundResources?: BoundResource[];
    phase?: '' | 'Binding' | 'Bound';
    conditions?: KcpCondition[];
    appliedPermissionClaims?: ScopedPermissionClaim[];
    exportPermissionClaims?: PermissionClaim[];
  };
};

export interface SchemaVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  /** The OpenAPI schema itself, without `openAPIV3Schema` around it. */
  schema: JsonObject;
  subresources?: JsonObject;
  additionalPrinterColumns?: Json[];
  /** Paths that clients may use in field selectors (KEP-4358). */
  selectableFields?: { jsonPath: string }[];
}

export type APIResourceSchema = KubeObject & {
  spec?: {
    group?: string;
    names: { plural: string; singular?: string; kind: string; listKind?: string; shortNames?: string[] };
    scope: 'Cluster' | 'Namespaced';
    versions: SchemaVersion[];
    nameValidation?: 'DNS1123Subdomain' | 'PathSegmentName';
    conversion?: { strategy: 'None' | 'Webhook'; webhook?: JsonObject };
  };
};

export type APIConversion = KubeObject & {
  spec?: {
    conversions?: {
      from: string;
      to: string;
      rules: { field: string; destination: string; transformation?: string }[];
      preserve?: string[];
    }[];
  };
};

export type APIExportEndpointSlice = KubeObject & {
  spec?: { export?: { path?: string; name?: string }; partition?: string };
  status?: { endpoints?: Endpoint[]; shardSelector?: string; conditions?: KcpCondition[] };
};

/** Reads {@link policedIdentitiesAnnotation}. */
export function policedIdentities({ metadata }: DeepReadonly<KubeObject>): ReadonlySet<string> {
  return new Set((metadata.annotations?.[policedIdentitiesAnnotation] ?? '').split(',').filter((hash) => hash !== ''));
}

/** What of a claim says which objects are meant. */
interface ClaimedResource {
  readonly group?: string | undefined;
  readonly resource: string;
  readonly identityHash?: string | undefined;
}

/** It is being deleted, and the objects of its APIs are gone: its claims end. */
export function isReleased({ metadata, status }: DeepReadonly<APIBinding>): boolean {
  return (
    metadata.deletionTimestamp !== undefined && isConditionTrue(status?.conditions, 'BindingResourceDeleteSuccess')
  );
}

/** Stands for an export in labels. */
export function exportLabelValue(exportCluster: string, exportName: string): string {
  return base62Sha224(`${exportCluster}:${exportName}`);
}

/** Events of both groups are the same objects. */
const groupOf = ({ group = '', resource }: ClaimedResource): string =>
  group === 'events.k8s.io' && resource === 'events' ? '' : group;

/** Stands for a claim in labels: for what is claimed, not for verbs or selectors. */
export function claimLabelValue(claim: ClaimedResource): string {
  const { resource, identityHash = '' } = claim;
  const group = groupOf(claim);
  return base62Sha224(
    encodeJson({
      ...(group === '' ? {} : { group }),
      resource,
      verbs: null,
      ...(identityHash === '' ? {} : { identityHash }),
    }),
  );
}

/**
 * Group that only the warrant of an APIExport virtual workspace carries: the provider of an API is not limited by its own
 * maximal permission policy.
 */
export const exportProviderGroup = (exportCluster: string, exportName: string): string =>
  `system:kcp:apiexport:${exportCluster}:${exportName}`;

/** Whether a claim includes requests to a subresource; empty: to the object itself. */
export function claimIncludes(
  { subresources }: DeepReadonly<Pick<PermissionClaim, 'subresources'>>,
  subresource: string,
): boolean {
  return subresource === '' || subresources === undefined || subresources.includes(subresource);
}

/** Whether verbs as claims have them (`*` for all) contain one. */
export function claimAllows(verbs: readonly string[] | undefined, verb: string): boolean {
  return verbs !== undefined && (verbs.includes('*') || verbs.includes(verb));
}

/** Value of {@link withheldLabelPrefix}; undefined where nothing is kept back: no label. */
export function withheldLabelValue(acceptedVerbs: readonly string[] | undefined): string | undefined {
  const withheld = (['list', 'watch'] as const).filter((verb) => !claimAllows(acceptedVerbs, verb));
  return withheld.length === 0 ? undefined : withheld.join('.');
}

/** Label selector that leaves out what consumers withhold from `verb` over all logical clusters. */
export function notWithheldSelector(exportCluster: string, exportName: string, verb: 'list' | 'watch'): string {
  return `${withheldLabelPrefix}${exportLabelValue(exportCluster, exportName)} notin (${verb},list.watch)`;
}

/** The labels that an accepted claim of an export puts on an object which its selector matches. */
export function claimLabels(
  exportCluster: string,
  exportName: string,
  claim: DeepReadonly<AcceptablePermissionClaim>,
): Record<string, string> {
  const key = exportLabelValue(exportCluster, exportName);
  const withheld = withheldLabelValue(claim.verbs);
  return {
    [`${claimLabelPrefix}${key}`]: claimLabelValue(claim),
    ...(withheld === undefined ? {} : { [`${withheldLabelPrefix}${key}`]: withheld }),
  };
}

/** The value with which a binding itself carries the claim label of its own export. */
export const reflexiveClaimLabelValue = base62(Uint8Array.from({ length: 28 }, (_, index) => index % 10));

/** Equal for claims of the same objects: events of both groups are the same ones. */
export function claimKey(claim: ClaimedResource): string {
  return `${claim.resource}/${groupOf(claim)}/${claim.identityHash ?? ''}`;
}

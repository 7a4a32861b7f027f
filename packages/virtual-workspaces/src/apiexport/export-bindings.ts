import { clusterAnnotation, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import {
  claimAllows,
  claimIncludes,
  claimKey,
  type AcceptablePermissionClaim,
  type APIBinding,
  type PermissionClaim,
} from '@multiplane/apis';
import type { BindingList } from '../consumer-bindings.ts';

/** An APIExport, as the path of the virtual workspace names it: its logical cluster and name. */
export interface ExportKey {
  readonly cluster: string;
  readonly name: string;
}

/** Parses the key `<cluster>/<name>`. */
export function exportKeyOf(key: string): ExportKey {
  const slash = key.indexOf('/');
  return { cluster: key.slice(0, slash), name: key.slice(slash + 1) };
}

/**
 * The export that a binding refers to. `status.apiExportClusterName` decides; until it is set, a `spec.reference` that
 * names the logical cluster as its path counts.
 */
export function exportKeyOfBinding({ spec, status }: DeepReadonly<APIBinding>): ExportKey | undefined {
  const { path = '', name } = spec?.reference?.export ?? {};
  if (name === undefined) return undefined;
  const found = status?.apiExportClusterName ?? '';
  return { cluster: found === '' ? path : found, name };
}

/** Finds the APIBinding to an export. */
export function bindingTo(bindings: BindingList, { cluster, name }: ExportKey): DeepReadonly<APIBinding> | undefined {
  return bindings.find((binding) => {
    const key = exportKeyOfBinding(binding);
    return key?.name === name && key.cluster === cluster;
  });
}

/** A claimed resource; `identityHash` is set for resources of another export. */
export interface ClaimedResource {
  readonly group?: string | undefined;
  readonly resource: string;
  readonly identityHash?: string | undefined;
}

/** The accepted permission claim of a binding for a resource. */
export function acceptedClaim(
  binding: DeepReadonly<APIBinding>,
  claimed: ClaimedResource,
): DeepReadonly<AcceptablePermissionClaim> | undefined {
  const key = claimKey(claimed);
  return binding.spec?.permissionClaims?.find((claim) => claim.state === 'Accepted' && claimKey(claim) === key);
}

/**
 * Whether both the claim of the export and the accepted claim of the consumer contain a verb on the object, or on one of its
 * subresources; `*` contains all verbs.
 * kcp v0.32 intersects the lists literally (docs/compatibility.md).
 */
export function claimsAllow(
  claimed: DeepReadonly<Pick<PermissionClaim, 'verbs' | 'subresources'>>,
  accepted: DeepReadonly<AcceptablePermissionClaim> | undefined,
  verb: string,
  subresource = '',
): boolean {
  const allows = (claim: typeof claimed): boolean =>
    claimAllows(claim.verbs, verb) && claimIncludes(claim, subresource);
  return accepted !== undefined && allows(claimed) && allows(accepted);
}

/** The fields of an APIBinding that the virtual workspaces read; other fields are not kept in memory. */
export function trimBinding(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec, status } = object as APIBinding;
  const { name, uid, resourceVersion, annotations } = metadata;
  const cluster = annotations?.[clusterAnnotation];
  return {
    apiVersion,
    kind,
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(cluster === undefined ? {} : { annotations: { [clusterAnnotation]: cluster } }),
    },
    spec,
    status: {
      apiExportClusterName: status?.apiExportClusterName,
      phase: status?.phase,
      boundResources: status?.boundResources?.map(({ group, resource }) => ({ group, resource })),
    },
  };
}

import { clusterAnnotation, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import { claimAllows, claimKey, type AcceptablePermissionClaim, type APIBinding } from '@multiplane/apis';
import type { BindingList } from '../consumer-bindings.ts';

/** Which export a view is of: the name of a logical cluster, and the export's there. */
export interface ExportKey {
  readonly cluster: string;
  readonly name: string;
}

/** Of the address of a view: `<cluster>/<name>`. */
export function exportKeyOf(key: string): ExportKey {
  const slash = key.indexOf('/');
  return { cluster: key.slice(0, slash), name: key.slice(slash + 1) };
}

/**
 * Of the bindings of a logical cluster the one to an export (C8.2): the system says which export it is; until it does, the binding's
 * own words count where they name the logical cluster.
 */
export function bindingTo(bindings: BindingList, { cluster, name }: ExportKey): DeepReadonly<APIBinding> | undefined {
  return bindings.find(({ spec, status }) => {
    const reference = spec?.reference?.export;
    if (reference?.name !== name) return false;
    const found = status?.apiExportClusterName ?? '';
    return found === '' ? reference.path === cluster : found === cluster;
  });
}

/** Names of a resource; `identityHash` for one of another export. */
export interface ClaimedResource {
  readonly group?: string | undefined;
  readonly resource: string;
  readonly identityHash?: string | undefined;
}

/** The claim on a resource that a binding accepts. */
export function acceptedClaim(
  binding: DeepReadonly<APIBinding>,
  claimed: ClaimedResource,
): DeepReadonly<AcceptablePermissionClaim> | undefined {
  const key = claimKey(claimed);
  return binding.spec?.permissionClaims?.find((claim) => claim.state === 'Accepted' && claimKey(claim) === key);
}

/** Whether what the export asks for and what the consumer accepts both contain a verb; `*` contains all (C16.3). */
export function claimsAllow(
  asked: { readonly verbs: readonly string[] },
  accepted: DeepReadonly<AcceptablePermissionClaim> | undefined,
  verb: string,
): boolean {
  return accepted !== undefined && claimAllows(asked.verbs, verb) && claimAllows(accepted.verbs, verb);
}

/** The part of a binding that views ask for; the rest of it need not be kept by a server that stores nothing. */
export function bindingFacts(object: KubeObject): KubeObject {
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

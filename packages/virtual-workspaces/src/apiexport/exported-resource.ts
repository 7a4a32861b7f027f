import { statusErrors, type LogicalClusterName, type UserInfo } from '@multiplane/apimachinery';
import {
  apiBindings,
  claimAllows,
  exportLabel,
  exportLabelValue,
  exportProviderGroup,
  isReviewResource,
  notWithheldSelector,
} from '@multiplane/apis';
import type { BodyDecoder, ResourceRequest } from '@multiplane/apiserver';
import { clusterNameExtra, warrantExtra, warrantText } from '@multiplane/generic-server';
import { ForwardedResource, type ShardConnection, type WriteRules } from '@multiplane/virtual-framework';
import type { ConsumerBindings } from '../consumer-bindings.ts';
import { acceptedClaim, bindingTo, claimsAllow, type ExportKey } from './export-bindings.ts';
import type { ExportResource } from './export-resources.ts';
import { selectorRules } from './selector-rules.ts';

export interface ExportedResourceModules {
  readonly connection: ShardConnection;
  /** Decodes the bodies of writes that are not forwarded. */
  readonly decoder?: BodyDecoder | undefined;
  /** APIBindings of this shard. */
  readonly bindings: ConsumerBindings;
  /** Throws unless the caller may create the object of an apply request. */
  readonly mayCreate: (key: ExportKey, request: ResourceRequest) => Promise<void>;
  /** Groups of the warrant beyond those of the provider. */
  readonly warrantGroups?: readonly string[] | undefined;
}

/**
 * One resource of the APIExport virtual workspace.
 *
 * - Across all logical clusters, requests are forwarded with this server's identity, for the resource of one identity
 *   or for objects with the label of the claim. Consumers that accept a claim without `list` or `watch` are excluded by
 *   another label; within one logical cluster this also ends what an open watch shows when the verb is withdrawn.
 * - In one logical cluster, requests are forwarded as the caller with a warrant of the system, because the caller has
 *   no rights there. The audit log of the shard names the caller.
 */
export function exportedResource(
  key: ExportKey,
  { definition, upstreamResource, claim, labelSelector, requiredFields, hasNameColumnOnly }: ExportResource,
  retired: AbortSignal,
  modules: ExportedResourceModules,
): ForwardedResource {
  const { bindings, connection, decoder } = modules;
  return new ForwardedResource(
    {
      definition,
      upstreamResource,
      retired,
      hasNameColumnOnly,
      labelSelector: claim === undefined || labelSelector === undefined ? labelSelector : claimedSelector,
      requiredFields,
      upstreamUser: (caller, cluster) =>
        cluster === '*' ? undefined : withWarrant(caller, cluster, key, modules.warrantGroups),
      authorizeCreate: (request) => modules.mayCreate(key, request),
      ...(claim === undefined || isReviewResource(definition) ? {} : { writeRulesFor: claimRules }),
    },
    { connection, decoder },
  );

  function claimedSelector({ cluster, context: { info } }: ResourceRequest): string | undefined {
    // APIBindings are always readable: without a claim on the verb they are selected by the label of their export.
    if (isAPIBinding(definition) && !isVerbClaimed(cluster, info.verb))
      return `${exportLabel}=${exportLabelValue(key.cluster, key.name)}`;
    if (info.verb !== 'list' && info.verb !== 'watch') return labelSelector;
    return `${labelSelector},${notWithheldSelector(key.cluster, key.name, info.verb)}`;
  }

  function isVerbClaimed(cluster: LogicalClusterName | '*', verb: string): boolean {
    if (claim === undefined) return false;
    if (cluster === '*') return claimAllows(claim.verbs, verb);
    const binding = bindingTo(bindings.cached(cluster), key);
    return binding !== undefined && claimsAllow(claim, acceptedClaim(binding, claim), verb);
  }

  async function claimRules({ context, cluster, name }: ResourceRequest): Promise<WriteRules | undefined> {
    if (claim === undefined || cluster === '*') return undefined;
    const binding = await bindings.evaluate(context.exchange, cluster, (known) => bindingTo(known, key));
    if (binding === undefined)
      throw statusErrors.forbidden(
        definition,
        name,
        'could not find suitable apibinding in target logical cluster: no suitable binding found',
      );
    return selectorRules(definition, name, acceptedClaim(binding, claim)?.selector);
  }
}

const isAPIBinding = ({ group, resource }: { readonly group: string; readonly resource: string }): boolean =>
  group === apiBindings.group && resource === apiBindings.resource;

/** The caller with a warrant for one logical cluster: an administrator there, and the provider of the API. */
function withWarrant(
  caller: UserInfo,
  cluster: LogicalClusterName,
  { cluster: exportCluster, name }: ExportKey,
  groups: readonly string[] = [],
): UserInfo {
  const warrant = warrantText({
    name: 'system:serviceaccount:default:rest',
    uid: '',
    groups: ['system:kcp:admin', exportProviderGroup(exportCluster, name), ...groups],
    extra: { [clusterNameExtra]: [cluster] },
  });
  return { ...caller, extra: { ...caller.extra, [warrantExtra]: [...(caller.extra[warrantExtra] ?? []), warrant] } };
}

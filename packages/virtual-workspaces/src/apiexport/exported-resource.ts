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
import { clusterNameExtra, warrantExtra, warrantText, type ResourceRequest } from '@multiplane/apiserver';
import { ForwardedResource, type ShardConnection, type WriteRules } from '@multiplane/virtual-framework';
import type { ConsumerBindings } from '../consumer-bindings.ts';
import { acceptedClaim, bindingTo, claimsAllow, type ExportKey } from './export-bindings.ts';
import type { ExportResource } from './export-resources.ts';
import { selectorRules } from './selector-rules.ts';

export interface ExportedResourceModules {
  readonly connection: ShardConnection;
  /** Bindings of this shard. */
  readonly bindings: ConsumerBindings;
  /** Throws unless the caller may create what a request applies to. */
  readonly mayCreate: (key: ExportKey, request: ResourceRequest) => Promise<void>;
}

/**
 * One resource of the view of an export, as the shard has it (C8.2).
 *
 * - Over all logical clusters the shard is asked in the name of this server, for the resource of one identity or for what
 *   carries the label of the claim. Consumers that accept a claim without `list` or `watch` are left out by a label, too;
 *   in one logical cluster that ends what a watch shows when the verb is taken back.
 * - In one logical cluster it is asked in the name of the caller, who has no rights there: a warrant says that the system
 *   vouches for it. The audit log of the shard names the caller.
 */
export function exportedResource(
  key: ExportKey,
  { definition, upstreamResource, claim, labelSelector }: ExportResource,
  retired: AbortSignal,
  modules: ExportedResourceModules,
): ForwardedResource {
  const { bindings, connection } = modules;
  return new ForwardedResource(
    {
      definition,
      upstreamResource,
      retired,
      labelSelector: claim === undefined || labelSelector === undefined ? labelSelector : claimedSelector,
      actingAs: (caller, cluster) => (cluster === '*' ? undefined : withWarrant(caller, cluster, key)),
      mayCreate: (request) => modules.mayCreate(key, request),
      ...(claim === undefined || isReviewResource(definition) ? {} : { rulesFor: claimRules }),
    },
    { connection },
  );

  function claimedSelector({ cluster, context: { info } }: ResourceRequest): string | undefined {
    // Bindings are there to be read, claimed or not: what nobody claims by a verb is seen as if nobody claimed it.
    if (isBindings(definition) && !allows(cluster, info.verb))
      return `${exportLabel}=${exportLabelValue(key.cluster, key.name)}`;
    if (info.verb !== 'list' && info.verb !== 'watch') return labelSelector;
    return `${labelSelector},${notWithheldSelector(key.cluster, key.name, info.verb)}`;
  }

  function allows(cluster: LogicalClusterName | '*', verb: string): boolean {
    if (claim === undefined) return false;
    if (cluster === '*') return claimAllows(claim.verbs, verb);
    const binding = bindingTo(bindings.known(cluster), key);
    return binding !== undefined && claimsAllow(claim, acceptedClaim(binding, claim), verb);
  }

  async function claimRules({ context, cluster, name }: ResourceRequest): Promise<WriteRules | undefined> {
    if (claim === undefined || cluster === '*') return undefined;
    const binding = await bindings.decide(context.exchange, cluster, (known) => bindingTo(known, key));
    if (binding === undefined)
      throw statusErrors.forbidden(
        definition,
        name,
        'could not find suitable apibinding in target logical cluster: no suitable binding found',
      );
    return selectorRules(definition, name, acceptedClaim(binding, claim)?.selector);
  }
}

const isBindings = ({ group, resource }: { readonly group: string; readonly resource: string }): boolean =>
  group === apiBindings.group && resource === apiBindings.resource;

/** The caller, vouched for in one logical cluster as somebody who may do everything there, and as who offers the API. */
function withWarrant(
  caller: UserInfo,
  cluster: LogicalClusterName,
  { cluster: exportCluster, name }: ExportKey,
): UserInfo {
  const warrant = warrantText({
    name: 'system:serviceaccount:default:rest',
    uid: '',
    groups: ['system:kcp:admin', exportProviderGroup(exportCluster, name)],
    extra: { [clusterNameExtra]: [cluster] },
  });
  return { ...caller, extra: { ...caller.extra, [warrantExtra]: [...(caller.extra[warrantExtra] ?? []), warrant] } };
}

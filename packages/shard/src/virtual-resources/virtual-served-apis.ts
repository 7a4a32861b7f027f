import { groupResourceText } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { ServedApis, ServedApisOf } from '@multiplane/apiserver';
import type { RequestContext } from '@multiplane/generic-server';
import { LRUCache } from 'lru-cache';
import type { VirtualResourceDiscovery } from './virtual-resource-discovery.ts';

const maxSets = 4_096;

/**
 * The APIs that discovery describes, with the verbs that virtual resources have at their endpoints. Discovery documents are
 * shared by the hash, so it contains these verbs. Logical clusters without virtual resources cost one look-up. While an
 * endpoint does not respond, its resources keep their last verbs, and the response has kcp's warning.
 */
export function virtualServedApis(modules: {
  readonly servedApisOf: ServedApisOf;
  readonly discovery: Pick<VirtualResourceDiscovery, 'discover'>;
}): ServedApisOf {
  const { servedApisOf, discovery } = modules;
  /** The virtual resources of a set of APIs, by its hash. */
  const virtualOf = new LRUCache<string, readonly ResourceDefinition[]>({ max: maxSets });

  const withVerbs = (context: RequestContext, apis: ServedApis): ServedApis | Promise<ServedApis> => {
    let virtual = virtualOf.get(apis.hash);
    if (virtual === undefined) {
      virtual = apis.definitions().filter((definition) => definition.virtual !== undefined);
      virtualOf.set(apis.hash, virtual);
    }
    return virtual.length === 0 ? apis : discover(context, apis, virtual);
  };

  async function discover(
    context: RequestContext,
    apis: ServedApis,
    definitions: readonly ResourceDefinition[],
  ): Promise<ServedApis> {
    const found = new Map<string, ResourceDefinition>();
    const unavailable = new Set<string>();
    await Promise.all(
      definitions.map(async (definition) => {
        if (definition.virtual === undefined) return;
        const { definition: discovered, isCurrent } = await discovery.discover(definition, definition.virtual);
        found.set(keyOf(definition), discovered);
        if (!isCurrent) unavailable.add(groupResourceText(definition));
      }),
    );
    if (unavailable.size > 0)
      context.warn(`Some resources are temporarily unavailable: [${[...unavailable].sort().join(' ')}].`);
    const verbs = definitions.map((definition) => {
      const { verbs: own, subresources } = found.get(keyOf(definition)) ?? definition;
      return [own, Object.entries(subresources).map(([name, part]) => [name, part.verbs])];
    });
    return {
      hash: `${apis.hash} ${JSON.stringify(verbs)}`,
      definitions: () => apis.definitions().map((definition) => found.get(keyOf(definition)) ?? definition),
      isBuiltInGroup: (group) => apis.isBuiltInGroup(group),
    };
  }

  return (context) => {
    const served = servedApisOf(context);
    if (served === undefined) return undefined;
    if (served instanceof Promise) return served.then((apis) => withVerbs(context, apis));
    return withVerbs(context, served);
  };
}

/** The APIs that discovery describes where virtual resources are not served. */
export function storedServedApis(servedApisOf: ServedApisOf): ServedApisOf {
  const stored = (apis: ServedApis): ServedApis => ({
    hash: `${apis.hash} stored`,
    definitions: () => apis.definitions().filter(({ virtual }) => virtual === undefined),
    isBuiltInGroup: (group) => apis.isBuiltInGroup(group),
  });
  return (context) => {
    const served = servedApisOf(context);
    if (served === undefined) return undefined;
    return served instanceof Promise ? served.then(stored) : stored(served);
  };
}

const keyOf = ({ group, version, resource }: ResourceDefinition): string => `${group}/${version}/${resource}`;

import { randomUUID } from 'node:crypto';
import { apiVersionOf, type DeepReadonly, type GroupVersionResource } from '@multiplane/apimachinery';
import {
  CustomResources,
  definitionOfSchema,
  readOnlyDefinition,
  tokenRequestKind,
  type APIResourceSchema,
  type ResourceDefinition,
} from '@multiplane/apis';
import type { WatchHub } from '@multiplane/apiserver';
import {
  AdmissionChain,
  BodyDecoder,
  ObjectReader,
  ObjectStore,
  resourceHandler,
  YamlWorker,
  type ResourceRequest,
} from '@multiplane/apiserver';
import type { Clock } from '@multiplane/component-base';
import { UnionAuthorizer } from '@multiplane/generic-server';
import { SchemaCache } from '@multiplane/schema';
import type { ServedResource } from '@multiplane/virtual-framework';
import type { ConsumerCache } from './consumer-cache.ts';
import type { ConsumerObjects } from './consumer-entry.ts';

const custom = new CustomResources({ schemas: new SchemaCache({ origin: 'custom' }) });

/** Prefix of the keys under which consumers read a source (see {@link ConsumerCache}). */
export const consumerPrefix = ({ group, resource }: GroupVersionResource, identity: string): string =>
  `/virtual/${group === '' ? 'core' : group}/${resource}/${identity}/`;

/**
 * The versions of an APIResourceSchema as read-only resources over a {@link ConsumerCache}. All versions show the objects
 * of the version that the CachedResource replicates, subresources of the schema as well.
 */
export function replicatedDefinitions(
  schema: DeepReadonly<APIResourceSchema>,
  cached: GroupVersionResource,
  prefix: string,
  retired: AbortSignal,
): readonly ResourceDefinition[] {
  const crd = definitionOfSchema(schema);
  const { names } = crd['spec'] as { names: object };
  return custom.definitionsOf({ ...crd, status: { acceptedNames: names } }, retired).map((definition) => {
    const { conversion: _conversion, ...rest } = definition;
    return {
      ...readOnlyDefinition(rest),
      storage: { group: cached.group, version: cached.version, kind: definition.kind, prefix },
      retired,
    };
  });
}

export interface ReplicatedResourcesModules {
  readonly cache: ConsumerCache;
  /** Parsed objects, shared by all sources of the process. */
  readonly decoded: ConsumerObjects;
  readonly hub: WatchHub;
  readonly clock: Clock;
  readonly random: () => number;
}

/** Serves definitions through the API server's own request pipeline, as every stored resource. */
export function replicatedResources(
  definitions: readonly ResourceDefinition[],
  modules: ReplicatedResourcesModules,
): ServedResource[] {
  const { cache, decoded, hub, clock, random } = modules;
  const resolve = (
    _cluster: string,
    group: string,
    version: string,
    resource: string,
  ): ResourceDefinition | undefined =>
    definitions.find((one) => apiVersionOf(one) === apiVersionOf({ group, version }) && one.resource === resource);
  const authorizer = new UnionAuthorizer({ authorizers: [] });
  const store = new ObjectStore({
    cache,
    decoded,
    // Lists that are kept would be a copy for each consumer.
    reader: new ObjectReader({ decoded, keepsLists: false }),
    admission: new AdmissionChain([]),
    clock,
    newUid: () => randomUUID(),
  });
  const handler = resourceHandler({
    resolver: {
      resolve,
      list: () => definitions,
      servedApisHash: () => 'replicated',
      isBuiltInGroup: () => false,
    } as never,
    store,
    // Nothing is written: the decoder is part of the pipeline only.
    decoder: new BodyDecoder({ isBuiltInKind: () => false, yaml: new YamlWorker({ clock }) }),
    authorizer,
    createHandlers: new Map(),
    hub,
    clock,
    random,
    connectKind: () => tokenRequestKind,
  });
  return definitions.map((definition) => ({
    definition,
    handle: async ({ context }: ResourceRequest) => handler(context),
  }));
}

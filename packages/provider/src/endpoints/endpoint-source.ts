import type { DeepReadonly, GroupVersionResource, KubeObject } from '@multiplane/apimachinery';

/** Whose objects a provider reconciles; exactly one of them. */
export interface EndpointSelection {
  /** Name of an APIExport in the provider's workspace: the objects of all its consumers. */
  readonly export?: string | undefined;
  /** Name of an APIExportScope in the provider's workspace: the objects of the scope. */
  readonly scope?: string | undefined;
  /** Name of a WorkspaceType in the provider's workspace: workspaces that its initializer has to finish. */
  readonly initializing?: string | undefined;
  /** Name of a WorkspaceType in the provider's workspace: workspaces that its terminator has to finish. */
  readonly terminating?: string | undefined;
}

/** The object in the provider's workspace that lists the endpoints, one for each shard. */
export interface EndpointSource {
  readonly resource: GroupVersionResource;
  readonly name: string;
  readonly urlsOf: (object: DeepReadonly<KubeObject>) => readonly string[];
}

type WithEndpoints = DeepReadonly<KubeObject & { status?: { endpoints?: { url: string }[] } }>;
type WithVirtualWorkspaces = DeepReadonly<
  KubeObject & { status?: { virtualWorkspaces?: { url: string; type?: string }[] } }
>;

const ofSlice = (object: WithEndpoints): readonly string[] =>
  (object.status?.endpoints ?? []).map((endpoint) => endpoint.url);

const ofType =
  (type: string) =>
  (object: WithVirtualWorkspaces): readonly string[] =>
    (object.status?.virtualWorkspaces ?? []).filter((one) => one.type === type).map(({ url }) => url);

const workspaceTypes = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspacetypes' };

const sources: Readonly<Record<keyof EndpointSelection, Omit<EndpointSource, 'name'>>> = {
  export: {
    resource: { group: 'apis.kcp.io', version: 'v1alpha1', resource: 'apiexportendpointslices' },
    urlsOf: ofSlice,
  },
  scope: {
    resource: { group: 'scopes.multiplane.dev', version: 'v1alpha1', resource: 'apiexportscopeendpointslices' },
    urlsOf: ofSlice,
  },
  initializing: { resource: workspaceTypes, urlsOf: ofType('initializing') },
  terminating: { resource: workspaceTypes, urlsOf: ofType('terminating') },
};

/** Throws a RangeError unless exactly one is selected. */
export function endpointSourceOf(selection: EndpointSelection): EndpointSource {
  const kinds = Object.keys(sources) as (keyof EndpointSelection)[];
  const chosen = kinds.filter((kind) => selection[kind] !== undefined);
  const [kind] = chosen;
  if (kind === undefined || chosen.length > 1)
    throw new RangeError(`exactly one of ${kinds.join(', ')} must be set: ${chosen.join(', ') || 'none'} is`);
  return { ...sources[kind], name: selection[kind] as string };
}

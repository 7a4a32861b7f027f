/** An export of the root workspace and what it has of the compiled kinds. */
export interface RootExportKinds {
  readonly name: string;
  readonly group: string;
  readonly plurals: readonly string[];
  /** Consumers may do with the resources what root allows them, and no more. */
  readonly policy?: true;
  /** Made only where this feature is on; its kinds are served everywhere then. */
  readonly feature?: string;
}

/** What the root workspace shares with all others. */
export const rootExportKinds: readonly RootExportKinds[] = [
  {
    name: 'tenancy.kcp.io',
    group: 'tenancy.kcp.io',
    plurals: ['workspaceauthenticationconfigurations', 'workspaces', 'workspacetypes'],
    policy: true,
  },
  { name: 'topology.kcp.io', group: 'topology.kcp.io', plurals: ['partitions', 'partitionsets'] },
  {
    name: 'scopes.multiplane.dev',
    group: 'scopes.multiplane.dev',
    plurals: ['apiexportscopeendpointslices', 'apiexportscopes', 'apiexportscopesets'],
    policy: true,
  },
  { name: 'shards.core.kcp.io', group: 'core.kcp.io', plurals: ['shards'] },
  {
    name: 'cache.kcp.io',
    group: 'cache.kcp.io',
    plurals: ['cachedresourceendpointslices', 'cachedresources'],
    feature: 'CacheAPIs',
  },
];

/** The export of root that has a kind; undefined for a kind that every logical cluster serves anyway. */
export function rootExportOf(group: string, resource: string): string | undefined {
  return rootExportKinds.find(
    ({ group: exported, plurals, feature }) =>
      feature === undefined && exported === group && plurals.includes(resource),
  )?.name;
}

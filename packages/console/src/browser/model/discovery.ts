/** A resource that a workspace serves, in the version that its group prefers. */
export interface ApiResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** The plural. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly shortNames: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
}

interface DiscoveredResource {
  readonly resource: string;
  readonly responseKind?: { readonly kind?: string };
  readonly scope: string;
  readonly singularResource?: string;
  readonly verbs?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly subresources?: readonly { readonly subresource: string }[];
}

/** An APIGroupDiscoveryList of `apidiscovery.k8s.io/v2`. */
export interface DiscoveryList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly { readonly version: string; readonly resources?: readonly DiscoveredResource[] }[];
  }[];
}

export const discoveryAccept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** All resources of the lists. Versions come in the order of preference: a resource is taken from the first one that has it. */
export function resourcesOf(lists: readonly DiscoveryList[]): readonly ApiResource[] {
  const found = new Map<string, ApiResource>();
  for (const { items = [] } of lists)
    for (const { metadata, versions = [] } of items) {
      const group = metadata?.name ?? '';
      for (const { version, resources = [] } of versions)
        for (const {
          resource,
          responseKind,
          scope,
          singularResource,
          verbs = [],
          shortNames = [],
          subresources = [],
        } of resources) {
          const key = `${resource}.${group}`;
          if (found.has(key)) continue;
          found.set(key, {
            group,
            version,
            resource,
            singular: singularResource ?? '',
            kind: responseKind?.kind ?? resource,
            isNamespaced: scope === 'Namespaced',
            shortNames,
            verbs,
            subresources: subresources.map(({ subresource }) => subresource),
          });
        }
    }
  return [...found.values()].sort((a, b) => a.kind.localeCompare(b.kind) || a.group.localeCompare(b.group));
}

/** What `kubectl get` accepts for the resource, and only that resource. */
export const kubectlName = ({ resource, group }: Pick<ApiResource, 'resource' | 'group'>): string =>
  group === '' ? resource : `${resource}.${group}`;

export const apiVersionOf = ({ group, version }: Pick<ApiResource, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

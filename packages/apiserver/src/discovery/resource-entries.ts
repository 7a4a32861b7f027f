import { createHash } from 'node:crypto';
import { apiVersionOf, type GroupVersionKind } from '@multiplane/apimachinery';
import type { ResourceDefinition, Subresource, Verb } from '@multiplane/apis';

/** An entry of an APIResourceList; members are in wire order. */
export interface ApiResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  /** Null if there are none: Go encodes an empty list as null. */
  readonly verbs: readonly string[] | null;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
}

/** An entry in aggregated discovery. */
export interface AggregatedResource {
  readonly resource: string;
  readonly responseKind: GroupVersionKind;
  readonly scope: 'Namespaced' | 'Cluster';
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly {
    readonly subresource: string;
    readonly responseKind: GroupVersionKind;
    readonly verbs: readonly string[];
  }[];
}

/** Order of the verbs of custom resources; those of built-in resources are sorted by name. */
const customVerbOrder: readonly Verb[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
];
const terminatingVerbs = new Set<Verb>(['delete', 'deletecollection', 'get', 'list', 'watch']);

/** How a virtual workspace lists a resource in discovery, which differs from a shard as in kcp. */
export interface VirtualListing {
  /** Served versions of the resource that have a status: a virtual workspace of kcp lists the status once for each. */
  readonly versionsWithStatus: number;
}

/** The APIResourceList entries of a resource and its subresources; the verbs of a virtual workspace are sorted. */
export function apiResourcesOf(definition: ResourceDefinition, virtual?: VirtualListing): ApiResource[] {
  const { storage, namespaced } = definition;
  const resources: ApiResource[] = [
    {
      name: definition.resource,
      singularName: definition.singular,
      namespaced,
      kind: definition.kind,
      verbs: virtual === undefined ? verbsOf(definition) : [...definition.verbs].sort(),
      ...names(definition),
      ...(storage === undefined ? {} : { storageVersionHash: storageVersionHash(storage) }),
    },
  ];
  for (const [name, subresource] of subresourcesOf(definition)) {
    const kind = kindOf(definition, subresource);
    const isOtherGroupVersion = kind.group !== definition.group || kind.version !== definition.version;
    const entry: ApiResource = {
      name: `${definition.resource}/${name}`,
      singularName: '',
      namespaced,
      ...(isOtherGroupVersion ? { group: kind.group, version: kind.version } : {}),
      kind: kind.kind,
      verbs: subresource.verbs.length === 0 ? null : [...subresource.verbs].sort(),
    };
    const times = name === 'status' && virtual !== undefined ? virtual.versionsWithStatus : 1;
    for (let count = 0; count < times; count++) resources.push(entry);
  }
  return resources;
}

/** The aggregated discovery entry of a resource. */
export function aggregatedResourceOf(definition: ResourceDefinition): AggregatedResource {
  const subresources = subresourcesOf(definition).map(([name, subresource]) => ({
    subresource: name,
    responseKind: responseKind(definition, kindOf(definition, subresource)),
    verbs: [...subresource.verbs].sort(),
  }));
  return {
    resource: definition.resource,
    responseKind: responseKind(definition, definition),
    scope: definition.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: definition.singular,
    verbs: verbsOf(definition),
    ...names(definition),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

/** Kinds whose hash is that of v1beta1, in which Kubernetes 1.36 stores them; the hash is the only visible effect. */
const storedAsBeta = new Set([
  'apiextensions.k8s.io/CustomResourceDefinition',
  'admissionregistration.k8s.io/MutatingAdmissionPolicy',
  'admissionregistration.k8s.io/MutatingAdmissionPolicyBinding',
]);

/**
 * Base64 of the first 8 bytes of SHA-256 over `<group>/<version>/<kind>` of the stored kind
 * (discovery.StorageVersionHash in k8s.io/apiserver).
 */
export function storageVersionHash({ group, version, kind }: GroupVersionKind): string {
  const stored = storedAsBeta.has(`${group}/${kind}`) ? 'v1beta1' : version;
  return createHash('sha256').update(`${group}/${stored}/${kind}`).digest().subarray(0, 8).toString('base64');
}

function verbsOf({ origin, verbs, terminating }: ResourceDefinition): string[] {
  if (origin === 'built-in') return [...verbs].sort();
  return customVerbOrder.filter((verb) => verbs.includes(verb) && (terminating !== true || terminatingVerbs.has(verb)));
}

function names({ shortNames, categories }: ResourceDefinition): Pick<ApiResource, 'shortNames' | 'categories'> {
  return { ...(shortNames.length === 0 ? {} : { shortNames }), ...(categories.length === 0 ? {} : { categories }) };
}

function subresourcesOf({ subresources }: ResourceDefinition): [string, Subresource][] {
  return Object.entries(subresources).sort(([a], [b]) => (a < b ? -1 : 1));
}

const scaleKind: GroupVersionKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };

function kindOf(definition: ResourceDefinition, subresource: Subresource): GroupVersionKind {
  switch (subresource.type) {
    case 'object':
      return definition;
    case 'scale':
      return scaleKind;
    case 'connect':
      return subresource.kind;
  }
}

/** Built-in resources omit group and version if they equal the enclosing ones; custom resources do not. */
function responseKind(definition: ResourceDefinition, { group, version, kind }: GroupVersionKind): GroupVersionKind {
  const implied = definition.origin === 'built-in' && apiVersionOf(definition) === apiVersionOf({ group, version });
  return implied ? { group: '', version: '', kind } : { group, version, kind };
}

import {
  clusterAnnotation,
  deepEqual,
  pathAnnotation,
  type DeepReadonly,
  type Json,
  type KubeObject,
} from '@multiplane/apimachinery';
import {
  admissionForbidden,
  loopbackUser,
  type AdmissionAttributes,
  type AdmissionPlugin,
} from '@multiplane/apiserver';
import type { Authorizer } from '@multiplane/generic-server';
import {
  cachedResources,
  defaultSliceAnnotation,
  isCachedResourceSlice,
  isDefaultSlice,
  resourceReferenceOf,
  type CachedResource,
  type CachedResourceEndpointSlice,
  type ResourceDefinition,
} from '@multiplane/apis';
import { AmbiguousPathError, type Lister, type PathAndNameLookup } from '@multiplane/client';
import { isPrivileged } from './workspace-admission.ts';

export interface CachedResourceSliceAdmissionModules {
  readonly authorizer: Authorizer;
  /** CachedResources of all shards. */
  readonly cachedResources: PathAndNameLookup<CachedResource>;
  /** The same objects. */
  readonly published: Pick<Lister<CachedResource>, 'list'>;
  /** The logical cluster of a path, or undefined if this shard does not have it. */
  readonly clusterOfPath: (path: string) => string | undefined;
}

/**
 * CachedResourceEndpointSlices. Endpoints are written by the shards. The slice that was made with a CachedResource becomes its
 * author's with the first change by anybody but the system: it is not deleted with the CachedResource then.
 *
 * A slice that refers to a CachedResource of another logical cluster gives its objects to the consumers of its own exports, so it
 * needs the permission to `bind` it; kcp has no such check. It may be created later, as in kcp, if the shard has its logical cluster, or if another CachedResource tells
 * which logical cluster of another shard the path means. The same text is answered whether or not the CachedResource exists.
 */
export class CachedResourceSliceAdmission implements AdmissionPlugin {
  readonly name = 'apis.kcp.io/CachedResourceEndpointSlice';
  readonly #modules: CachedResourceSliceAdmissionModules;

  constructor(modules: CachedResourceSliceAdmissionModules) {
    this.#modules = modules;
  }

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns(definition: ResourceDefinition): boolean {
    return isCachedResourceSlice(definition);
  }

  async admit({ definition, user, subresource, object, oldObject: old }: AdmissionAttributes): Promise<void> {
    if (!this.concerns(definition) || subresource !== '' || user === loopbackUser || object === undefined) return;
    const isDefault = old !== undefined && isDefaultSlice(old);
    if (isDefault && !isChanged(object, old)) return;
    // An object that comes without the mark is a whole slice of its author: its owners are, too.
    if (!isDefaultSlice(object)) return;
    const { metadata } = object;
    const { [defaultSliceAnnotation]: _mark, ...annotations } = metadata.annotations ?? {};
    metadata.annotations = annotations;
    if (!isDefault || metadata.ownerReferences === undefined) return;
    metadata.ownerReferences = metadata.ownerReferences.filter(
      ({ kind, name }) => kind !== 'CachedResource' || name !== old.metadata.name,
    );
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!this.concerns(attributes.definition)) return;
    const { user, cluster, operation } = attributes;
    const slice = attributes.object as DeepReadonly<CachedResourceEndpointSlice>;
    const before = attributes.oldObject as CachedResourceEndpointSlice | undefined;
    if (!isPrivileged(user) && !isSame(slice.status?.endpoints, before?.status?.endpoints))
      throw admissionForbidden(attributes, 'status.endpoints can only be changed by system privileged users');
    const reference = resourceReferenceOf(slice);
    const { path = '', name = '' } = reference ?? {};
    const isKept = before !== undefined && isSame(reference, resourceReferenceOf(before));
    if (path === '' || path === cluster || isKept) return;
    const place = this.#clusterOf(path, name);
    if (place === cluster) return;
    if (place !== undefined && (await this.#mayBind(attributes, place, name))) return;
    throw admissionForbidden(
      attributes,
      `unable to ${operation.toLowerCase()} CachedResourceEndpointSlice: no permission to bind to CachedResource ${path}:${name}`,
    );
  }

  #clusterOf(path: string, name: string): string | undefined {
    try {
      const found = this.#modules.cachedResources.byPathAndName(path, name);
      if (found !== undefined) return found.metadata.annotations?.[clusterAnnotation];
    } catch (error) {
      if (error instanceof AmbiguousPathError) return undefined;
      throw error;
    }
    return this.#modules.clusterOfPath(path) ?? this.#publisherAt(path);
  }

  /** Undefined if no logical cluster with this path has a CachedResource, or more than one. */
  #publisherAt(path: string): string | undefined {
    const clusters = new Set<string>();
    for (const { metadata } of this.#modules.published.list()) {
      const { [clusterAnnotation]: cluster, [pathAnnotation]: itsPath } = metadata.annotations ?? {};
      if (cluster !== undefined && (itsPath === path || cluster === path)) clusters.add(cluster);
    }
    const [cluster] = clusters;
    return clusters.size === 1 ? cluster : undefined;
  }

  async #mayBind({ user }: AdmissionAttributes, cluster: string, name: string): Promise<boolean> {
    const { decision } = await this.#modules.authorizer.authorize({
      user,
      cluster: cluster as AdmissionAttributes['cluster'],
      deep: true,
      verb: 'bind',
      isResourceRequest: true,
      ...cachedResources,
      subresource: '',
      namespace: '',
      name,
      path: '',
    });
    return decision === 'allow';
  }
}

const isSame = (a: unknown, b: unknown): boolean => deepEqual((a ?? null) as Json, (b ?? null) as Json);

/** Whether a write changes more than the server's own record of it. */
function isChanged(object: DeepReadonly<KubeObject>, old: DeepReadonly<KubeObject>): boolean {
  const fields = ['labels', 'annotations', 'ownerReferences', 'finalizers'] as const;
  return (
    !isSame(object['spec'], old['spec']) || fields.some((field) => !isSame(object.metadata[field], old.metadata[field]))
  );
}

import { clusterAnnotation, deepEqual, pathAnnotation, type DeepReadonly, type Json } from '@multiplane/apimachinery';
import { admissionForbidden, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import type { Authorizer } from '@multiplane/generic-server';
import {
  cachedResourceEndpointSlices,
  cachedResources,
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
 * CachedResourceEndpointSlices. Endpoints are written by the shards. A slice that refers to a CachedResource of another
 * logical cluster gives its objects to the consumers of its own exports, so it needs the permission to `bind` it; kcp has
 * no such check. It may be created later, as in kcp, if the shard has its logical cluster, or if another CachedResource tells
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

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === cachedResourceEndpointSlices.group && resource === cachedResourceEndpointSlices.resource;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!this.concerns(attributes.definition)) return;
    const { user, cluster, operation } = attributes;
    const slice = attributes.object as DeepReadonly<CachedResourceEndpointSlice>;
    const before = attributes.oldObject as CachedResourceEndpointSlice | undefined;
    const isSame = (a: unknown, b: unknown): boolean => deepEqual((a ?? null) as Json, (b ?? null) as Json);
    if (!isPrivileged(user) && !isSame(slice.status?.endpoints, before?.status?.endpoints))
      throw admissionForbidden(attributes, 'status.endpoints can only be changed by system privileged users');
    const { path = '', name = '' } = slice.spec?.cachedResource ?? {};
    if (path === '' || path === cluster || isSame(slice.spec?.cachedResource, before?.spec?.cachedResource)) return;
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

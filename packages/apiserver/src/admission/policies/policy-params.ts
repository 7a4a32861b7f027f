import {
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
  apiVersionOf,
  parseApiVersion,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { type WatchCache, hasObjectKey, listPrefix, objectKey } from '@multiplane/storage';
import type { ObjectReader } from '../../registry/store/object-reader.ts';
import type { ResourceResolver } from '../../registry/definitions/resource-resolver.ts';
import { RemoteParamsError, type RemoteParams, type ServedKind } from './remote-params.ts';
import type { BindingHook, ParamKind, ParamRef, PolicyHook } from './policy-hook.ts';

/** Parameters cannot be resolved; the failure policy applies. */
export class ParamsError extends Error {
  override readonly name = 'ParamsError';
}

export interface PolicyParamsModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly resolver: Pick<ResourceResolver, 'list'>;
  /** Whether this shard stores the logical cluster. */
  readonly isLocal: (cluster: LogicalClusterName) => boolean;
  /** Reads parameters of other shards. */
  readonly remoteParams: Pick<RemoteParams, 'servedKind' | 'objects'>;
}

/** A lookup of parameters for a request. */
interface ParamsLookup {
  readonly cluster: LogicalClusterName;
  readonly paramKind: ParamKind;
  readonly paramRef: ParamRef;
  readonly request: { readonly namespace: string; readonly signal: AbortSignal };
}

/** Limit of parameter objects for one request. */
const maxParams = 1000;

/** Resolves the parameters of policies in the logical cluster of the policy, on any shard. */
export class PolicyParams {
  readonly #modules: PolicyParamsModules;

  constructor(modules: PolicyParamsModules) {
    this.#modules = modules;
  }

  /**
   * The parameter objects with which the policy is evaluated; a single undefined if the policy has no parameters.
   * Throws {@link ParamsError}.
   */
  async of(
    cluster: LogicalClusterName,
    { paramKind }: PolicyHook,
    { paramRef }: BindingHook,
    request: { readonly namespace: string; readonly signal: AbortSignal },
  ): Promise<readonly (DeepReadonly<KubeObject> | undefined)[]> {
    if (paramKind === undefined || paramRef === undefined) return [undefined];
    const lookup = { cluster, paramKind, paramRef, request };
    const found = this.#modules.isLocal(cluster) ? await this.#localParams(lookup) : await this.#remoteParams(lookup);
    if (found.length > maxParams) throw new ParamsError(`more than ${maxParams} params found for policy binding`);
    if (found.length === 0 && paramRef.denyIfNotFound)
      throw new ParamsError('no params found for policy binding with `Deny` parameterNotFoundAction');
    return found;
  }

  async #localParams(lookup: ParamsLookup): Promise<readonly DeepReadonly<KubeObject>[]> {
    const { cluster, paramKind, paramRef, request } = lookup;
    const definition = this.#definition(cluster, paramKind);
    if (definition?.storage === undefined) throw unknownKind(paramKind);
    const namespace = namespaceFor(definition, lookup);
    const { cache, reader } = this.#modules;
    const { prefix } = definition.storage;
    if (paramRef.name !== '') {
      const location = { cluster, namespace, name: paramRef.name };
      const entry = hasObjectKey(location) ? cache.peek(objectKey(prefix, location)) : undefined;
      return entry === undefined ? [] : [await reader.read(definition, entry, request)];
    }
    const found: DeepReadonly<KubeObject>[] = [];
    const scope = listPrefix(prefix, cluster, definition.namespaced ? namespace : undefined);
    for (const entry of cache.snapshot(scope).entries(undefined, Number.POSITIVE_INFINITY)) {
      const object = await reader.read(definition, entry, request);
      if (paramRef.selector?.matches(object.metadata.labels) === true) found.push(object);
      if (found.length > maxParams) break;
    }
    return found;
  }

  async #remoteParams(lookup: ParamsLookup): Promise<readonly DeepReadonly<KubeObject>[]> {
    const { cluster, paramKind: kind, paramRef } = lookup;
    const { remoteParams } = this.#modules;
    try {
      const served = await remoteParams.servedKind(cluster, kind);
      if (served === undefined) throw unknownKind(kind);
      const { name } = paramRef;
      const namespace = namespaceFor(served, lookup);
      const objects = await remoteParams.objects({ cluster, kind, served, namespace, name });
      return name === '' ? objects.filter(({ metadata }) => paramRef.selector?.matches(metadata.labels)) : objects;
    } catch (error) {
      if (!(error instanceof RemoteParamsError)) throw error;
      throw new ParamsError(
        `params of kind \`${kindText(kind)}\` are on another shard and cannot be read: ${error.message}`,
        { cause: error },
      );
    }
  }

  #definition(cluster: LogicalClusterName, { apiVersion, kind }: ParamKind): ResourceDefinition | undefined {
    return this.#modules.resolver
      .list(cluster)
      .find((candidate) => candidate.kind === kind && apiVersionOf(candidate) === apiVersion);
  }
}

const unknownKind = (kind: ParamKind): ParamsError => new ParamsError(`paramKind kind \`${kindText(kind)}\` not known`);

/** The namespace of the parameters: that of the reference, or of the request; empty for a cluster-scoped kind. */
function namespaceFor({ namespaced }: Pick<ServedKind, 'namespaced'>, { paramRef, request }: ParamsLookup): string {
  if (!namespaced) {
    if (paramRef.namespace !== '')
      throw new ParamsError('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
    return '';
  }
  const namespace = paramRef.namespace === '' ? request.namespace : paramRef.namespace;
  if (namespace === '')
    throw new ParamsError('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
  return namespace;
}

/** The kind as Go formats it: `apps/v1, Kind=Deployment`, `/v1, Kind=ConfigMap`. */
export function kindText({ apiVersion, kind }: ParamKind): string {
  const { group = '', version = apiVersion } = parseApiVersion(apiVersion) ?? {};
  return `${group}/${version}, Kind=${kind}`;
}

import {
  type DeepReadonly,
  type KubeObject,
  type LogicalClusterName,
  apiVersionOf,
  parseApiVersion,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { type WatchCache, listPrefix, objectKey } from '@multiplane/storage';
import type { ObjectReader } from '../../registry/object-reader.ts';
import type { ResourceResolver } from '../../registry/resource-resolver.ts';
import { ElsewhereError, type ParamsElsewhere, type ServedKind } from './params-elsewhere.ts';
import type { BindingHook, ParamKind, ParamRef, PolicyHook } from './policy-hook.ts';

/** Parameters cannot be had: the failure policy decides what comes of it. */
export class ParamsError extends Error {
  override readonly name = 'ParamsError';
}

export interface PolicyParamsModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly resolver: Pick<ResourceResolver, 'list'>;
  /** Whether what a logical cluster stores is here. */
  readonly isHere: (cluster: LogicalClusterName) => boolean;
  /** Reads what is not. */
  readonly elsewhere: Pick<ParamsElsewhere, 'servedKind' | 'objects'>;
}

/** A question about parameters, and the write that it is for. */
interface Asked {
  readonly cluster: LogicalClusterName;
  readonly paramKind: ParamKind;
  readonly paramRef: ParamRef;
  readonly request: { readonly namespace: string; readonly signal: AbortSignal };
}

/** Parameters that a selector may bring for one request. */
const maxParams = 1000;

/** Finds the parameters of policies (K6.6) in the logical cluster of the policy, on whatever shard that is. */
export class PolicyParams {
  readonly #modules: PolicyParamsModules;

  constructor(_options: Record<string, never>, modules: PolicyParamsModules) {
    this.#modules = modules;
  }

  /**
   * Every object with which the policy is to be evaluated; undefined stands for none, where there is nothing to look for.
   * Throws {@link ParamsError}.
   */
  async of(
    cluster: LogicalClusterName,
    { paramKind }: PolicyHook,
    { paramRef }: BindingHook,
    request: { readonly namespace: string; readonly signal: AbortSignal },
  ): Promise<readonly (DeepReadonly<KubeObject> | undefined)[]> {
    if (paramKind === undefined || paramRef === undefined) return [undefined];
    const asked = { cluster, paramKind, paramRef, request };
    const found = this.#modules.isHere(cluster) ? await this.#here(asked) : await this.#elsewhere(asked);
    if (found.length > maxParams) throw new ParamsError(`more than ${maxParams} params found for policy binding`);
    if (found.length === 0 && paramRef.denyWithout)
      throw new ParamsError('no params found for policy binding with `Deny` parameterNotFoundAction');
    return found;
  }

  async #here(asked: Asked): Promise<readonly DeepReadonly<KubeObject>[]> {
    const { cluster, paramKind, paramRef, request } = asked;
    const definition = this.#definition(cluster, paramKind);
    if (definition?.storage === undefined) throw unknownKind(paramKind);
    const namespace = namespaceFor(definition, asked);
    const { cache, reader } = this.#modules;
    const { prefix } = definition.storage;
    if (paramRef.name !== '') {
      const entry = cache.peek(objectKey(prefix, { cluster, namespace, name: paramRef.name }));
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

  async #elsewhere(asked: Asked): Promise<readonly DeepReadonly<KubeObject>[]> {
    const { cluster, paramKind: kind, paramRef } = asked;
    const { elsewhere } = this.#modules;
    try {
      const served = await elsewhere.servedKind(cluster, kind);
      if (served === undefined) throw unknownKind(kind);
      const { name } = paramRef;
      const namespace = namespaceFor(served, asked);
      const objects = await elsewhere.objects({ cluster, kind, served, namespace, name });
      return name === '' ? objects.filter(({ metadata }) => paramRef.selector?.matches(metadata.labels)) : objects;
    } catch (error) {
      if (!(error instanceof ElsewhereError)) throw error;
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

/** The namespace of the parameters, empty for a kind without: the one that is named, or that of the request. */
function namespaceFor({ namespaced }: Pick<ServedKind, 'namespaced'>, { paramRef, request }: Asked): string {
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

/** As Go prints a kind: `apps/v1, Kind=Deployment`, `/v1, Kind=ConfigMap`. */
export function kindText({ apiVersion, kind }: ParamKind): string {
  const { group = '', version = apiVersion } = parseApiVersion(apiVersion) ?? {};
  return `${group}/${version}, Kind=${kind}`;
}

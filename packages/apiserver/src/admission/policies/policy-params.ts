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
import type { BindingHook, ParamKind, PolicyHook } from './policy-hook.ts';

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
}

/** Parameters that a selector may bring for one request. */
const maxParams = 1000;

/** Finds the parameters of policies (K6.6) in the logical cluster of the policy. */
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
    const definition = this.#definition(cluster, paramKind);
    if (definition?.storage === undefined) throw new ParamsError(`paramKind kind \`${kindText(paramKind)}\` not known`);
    if (!this.#modules.isHere(cluster))
      throw new ParamsError(`paramKind kind \`${kindText(paramKind)}\` not yet synced to use for admission`);
    let namespace = '';
    if (definition.namespaced) {
      namespace = paramRef.namespace === '' ? request.namespace : paramRef.namespace;
      if (namespace === '')
        throw new ParamsError('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
    } else if (paramRef.namespace !== '') {
      throw new ParamsError('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
    }
    const { cache, reader } = this.#modules;
    const { prefix } = definition.storage;
    const found: DeepReadonly<KubeObject>[] = [];
    if (paramRef.name !== '') {
      const entry = cache.peek(objectKey(prefix, { cluster, namespace, name: paramRef.name }));
      if (entry !== undefined) found.push(await reader.read(definition, entry, request.signal));
    } else {
      const scope = listPrefix(prefix, cluster, definition.namespaced ? namespace : undefined);
      for (const entry of cache.snapshot(scope).entries(undefined, Number.POSITIVE_INFINITY)) {
        const object = await reader.read(definition, entry, request.signal);
        if (paramRef.selector?.matches(object.metadata.labels) !== true) continue;
        if (found.length >= maxParams) throw new ParamsError(`more than ${maxParams} params found for policy binding`);
        found.push(object);
      }
    }
    if (found.length === 0 && paramRef.denyWithout)
      throw new ParamsError('no params found for policy binding with `Deny` parameterNotFoundAction');
    return found;
  }

  #definition(cluster: LogicalClusterName, { apiVersion, kind }: ParamKind): ResourceDefinition | undefined {
    return this.#modules.resolver
      .list(cluster)
      .find((candidate) => candidate.kind === kind && apiVersionOf(candidate) === apiVersion);
  }
}

/** As Go prints a kind: `apps/v1, Kind=Deployment`, `/v1, Kind=ConfigMap`. */
export function kindText({ apiVersion, kind }: ParamKind): string {
  const { group = '', version = apiVersion } = parseApiVersion(apiVersion) ?? {};
  return `${group}/${version}, Kind=${kind}`;
}

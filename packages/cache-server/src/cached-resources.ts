import { createHash } from 'node:crypto';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { CustomResources, type ResourceDefinition } from '@multiplane/apis';
import type { ResourceResolver } from '@multiplane/apiserver';
import { cacheResourcePrefix, wildcardShard } from '@multiplane/storage';
import type { CachedKind, CacheScope, CachedKindSource } from './cached-kinds.ts';
import { cachedObjectStrategy } from './cached-object-strategy.ts';

/**
 * The resource definitions of the cached objects of one shard, or of all shards (`*`): without schema validation and
 * subresources. The storage key prefix includes the shard; for all shards it ends before the shard segment, and writes
 * are not supported.
 */
export class CachedResources implements ResourceResolver {
  readonly #shard: string;
  readonly #sources: readonly CachedKindSource[];
  readonly #definitions = new Map<string, ResourceDefinition>();

  constructor(options: { readonly shard: string }, modules: { readonly sources: readonly CachedKindSource[] }) {
    this.#shard = options.shard;
    this.#sources = modules.sources;
  }

  resolve(
    cluster: LogicalClusterName | '*',
    group: string,
    version: string,
    resource: string,
    identity?: string,
  ): ResourceDefinition | undefined {
    const scope = this.#scope(cluster);
    for (const source of this.#sources) {
      const kind = source.find(scope, group, version, resource, identity);
      if (kind !== undefined) return this.#definitionOf(kind);
    }
    return undefined;
  }

  list(cluster: LogicalClusterName): readonly ResourceDefinition[] {
    const scope = this.#scope(cluster);
    return this.#sources.flatMap((source) => source.list(scope).map((kind) => this.#definitionOf(kind)));
  }

  discoveryHash(cluster: LogicalClusterName): string {
    const scope = this.#scope(cluster);
    const hash = createHash('sha256');
    for (const source of this.#sources) hash.update(`${source.hash(scope)}\n`);
    return `cache ${hash.digest('base64')}`;
  }

  /** Unknown resources get the plain-text 404 of custom resources, as in kcp. */
  isBuiltInGroup(): boolean {
    return false;
  }

  #scope(cluster: LogicalClusterName | '*'): CacheScope {
    return { shard: this.#shard, cluster };
  }

  #definitionOf(kind: CachedKind): ResourceDefinition {
    const key = `${kind.group}/${kind.version}/${kind.resource}:${kind.identity} ${kind.kind} ${kind.namespaced}`;
    let definition = this.#definitions.get(key);
    if (definition === undefined) {
      definition = cachedDefinition(kind, this.#shard);
      this.#definitions.set(key, definition);
    }
    return definition;
  }
}

const permissiveSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
/** Definitions are never replaced, because any object is accepted. */
const neverAborted = new AbortController().signal;

function cachedDefinition(kind: CachedKind, shard: string): ResourceDefinition {
  const { group, version, resource } = kind;
  const names = { plural: resource, singular: kind.kind.toLowerCase(), kind: kind.kind, listKind: `${kind.kind}List` };
  const [definition] = new CustomResources().definitionsOf(
    {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${resource}.${group}` },
      spec: {
        group,
        names,
        scope: kind.namespaced ? 'Namespaced' : 'Cluster',
        versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: permissiveSchema } }],
      },
      status: { acceptedNames: names },
    },
    neverAborted,
  );
  if (definition === undefined) throw new TypeError(`no definition of ${resource}.${group}`);
  return {
    ...definition,
    native: undefined,
    strategy: cachedObjectStrategy(shard),
    subresources: {},
    storage: {
      group,
      version,
      kind: kind.kind,
      prefix: cacheResourcePrefix({ group, resource, identity: kind.identity }, shard),
      ...(shard === wildcardShard ? { acrossShards: true } : {}),
    },
  };
}

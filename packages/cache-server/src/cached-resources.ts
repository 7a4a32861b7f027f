import { createHash } from 'node:crypto';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import { CustomResources, type ResourceDefinition } from '@multiplane/apis';
import type { ResourceResolver } from '@multiplane/apiserver';
import { cacheResourcePrefix, wildcardShard } from '@multiplane/storage';
import type { CachedKind, CachedPlace, KindSource } from './cached-kinds.ts';
import { replicaStrategy } from './replica-strategy.ts';

/**
 * The resources of one shard's replicas, or of all shards' (`*`), as the resource pipeline needs them: definitions that
 * take any object, without subresources, whose keys begin behind the shard. Over all shards the keys begin before it, and
 * writing is nobody's (C16.2).
 */
export class CachedResources implements ResourceResolver {
  readonly #shard: string;
  readonly #sources: readonly KindSource[];
  readonly #definitions = new Map<string, ResourceDefinition>();

  constructor(options: { readonly shard: string }, modules: { readonly sources: readonly KindSource[] }) {
    this.#shard = options.shard;
    this.#sources = modules.sources;
  }

  resolve(
    cluster: LogicalClusterName | '*',
    group: string,
    version: string,
    resource: string,
  ): ResourceDefinition | undefined {
    const place = this.#place(cluster);
    for (const source of this.#sources) {
      const kind = source.find(place, group, version, resource);
      if (kind !== undefined) return this.#definitionOf(kind);
    }
    return undefined;
  }

  list(cluster: LogicalClusterName): readonly ResourceDefinition[] {
    const place = this.#place(cluster);
    return this.#sources.flatMap((source) => source.list(place).map((kind) => this.#definitionOf(kind)));
  }

  surfaceHash(cluster: LogicalClusterName): string {
    const place = this.#place(cluster);
    const hash = createHash('sha256');
    for (const source of this.#sources) hash.update(`${source.hash(place)}\n`);
    return `cache ${hash.digest('base64')}`;
  }

  /** Unknown resources get a plain 404, as those of definitions do (recorded). */
  isBuiltInGroup(): boolean {
    return false;
  }

  #place(cluster: LogicalClusterName | '*'): CachedPlace {
    return { shard: this.#shard, cluster };
  }

  #definitionOf(kind: CachedKind): ResourceDefinition {
    const key = `${kind.group}/${kind.version}/${kind.resource}:${kind.identity}`;
    let definition = this.#definitions.get(key);
    if (definition === undefined) {
      definition = cachedDefinition(kind, this.#shard);
      this.#definitions.set(key, definition);
    }
    return definition;
  }
}

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
/** Definitions are never replaced: what a shard replicates is taken as it is. */
const never = new AbortController().signal;

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
        versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: anything } }],
      },
      status: { acceptedNames: names },
    },
    never,
  );
  if (definition === undefined) throw new TypeError(`no definition of ${resource}.${group}`);
  return {
    ...definition,
    native: undefined,
    strategy: replicaStrategy(shard),
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

import type { PatchMeta } from './compiled-schema.ts';
import type { SchemaNode } from './schema-node.ts';

const known = new WeakMap<SchemaNode, PatchMeta>();
const noStrategies: readonly string[] = [];

/** The view of a schema that merge patches work with; made when asked for, once per node. */
export function patchMetaOf(node: SchemaNode): PatchMeta {
  let meta = known.get(node);
  if (meta === undefined) {
    meta = new NodePatchMeta(node);
    known.set(node, meta);
  }
  return meta;
}

class NodePatchMeta implements PatchMeta {
  readonly strategies: readonly string[];
  readonly mergeKey: string | undefined;
  readonly #node: SchemaNode;

  constructor(node: SchemaNode) {
    this.#node = node;
    this.strategies = node.patch?.strategies ?? noStrategies;
    this.mergeKey = node.patch?.mergeKey;
  }

  field(name: string): PatchMeta | undefined {
    const holder = this.#node.items ?? this.#node;
    const field = holder.field(name);
    return field === undefined ? undefined : patchMetaOf(field);
  }
}

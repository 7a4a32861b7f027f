import type { DeepReadonly } from '@multiplane/apimachinery';
import { definitionOfSchema, type APIResourceSchema, type ResourceDefinition } from '@multiplane/apis';
import { established } from '../../api-sharing/bound-apis.ts';
import type { DefinitionsOf } from './stored-definitions.ts';

/** Exported resources without a binding whose definitions are kept. */
const maxUnbound = 256;

interface Unbound {
  /** Of the APIResourceSchema. */
  readonly uid: string;
  readonly definitions: readonly ResourceDefinition[];
  readonly retirement: AbortController;
}

/**
 * Definitions of resources that an APIExport offers and that no logical cluster of this shard has bound yet: the APIExport
 * virtual workspace can be watched before the first binding.
 */
export class UnboundDefinitions {
  readonly #definitionsOf: DefinitionsOf;
  /** By uid of the schema and identity. */
  readonly #unbound = new Map<string, Unbound>();

  constructor(modules: { readonly definitionsOf: DefinitionsOf }) {
    this.#definitionsOf = modules.definitionsOf;
  }

  /** All versions of a schema under an identity. */
  versions(schema: DeepReadonly<APIResourceSchema>, identity: string): readonly ResourceDefinition[] {
    const { uid = '' } = schema.metadata;
    const key = `${uid}/${identity}`;
    let unbound = this.#unbound.get(key);
    if (unbound === undefined) {
      const retirement = new AbortController();
      const definitions = this.#definitionsOf(established(definitionOfSchema(schema)), retirement.signal, identity);
      unbound = { uid, definitions, retirement };
      this.#unbound.set(key, unbound);
      if (this.#unbound.size > maxUnbound) this.#unbound.delete(this.#unbound.keys().next().value as string);
    }
    return unbound.definitions;
  }

  /**
   * Drops the definitions of schemas that are bound now and have a stored definition. Watches end only if the schema has
   * several versions: between those the stored definition may convert; a single version is the same in both.
   */
  dropBound(isBound: (schemaUid: string) => boolean): void {
    for (const [key, { uid, definitions, retirement }] of this.#unbound) {
      if (!isBound(uid)) continue;
      this.#unbound.delete(key);
      if (definitions.length > 1) retirement.abort();
    }
  }
}

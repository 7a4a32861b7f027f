import { isFieldKey, type ResourceDefinition } from '@multiplane/apis';
import type { ProtectedFields } from '@multiplane/apiserver';
import type { IndexedScope, ScopeIndex, ScopesByKey } from './scope-index.ts';
import type { ScopeSetIndex } from './scope-set-index.ts';

export interface ResourceScopesModules {
  /** Scopes of all shards. */
  readonly scopes: Pick<ScopeIndex, 'of'>;
  readonly sets: Pick<ScopeSetIndex, 'of'>;
}

const noScopes: ScopesByKey = new Map();
const noValues: ReadonlyMap<string, IndexedScope> = new Map();
const noPaths: readonly string[] = [];

/** The scopes that protect labels and fields of a resource. */
export class ResourceScopes {
  readonly #modules: ResourceScopesModules;

  constructor(modules: ResourceScopesModules) {
    this.#modules = modules;
  }

  /** A key of a set of occurring values is protected before its first value occurs. */
  of(definition: ResourceDefinition): ScopesByKey {
    const { bound } = definition;
    if (bound === undefined) return noScopes;
    const scopes = this.#modules.scopes.of(bound.identity, definition);
    const sets = this.#modules.sets.of(bound.identity, definition);
    if (sets.size === 0) return scopes;
    return new Map([...Array.from(sets.keys(), (key) => [key, noValues] as const), ...scopes]);
  }

  /** The protected fields of the resource. */
  readonly fields: ProtectedFields = {
    of: (definition) => {
      const keys = this.of(definition);
      return keys.size === 0 ? noPaths : [...keys.keys()].filter(isFieldKey);
    },
  };
}

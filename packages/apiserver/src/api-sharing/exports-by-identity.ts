import { compareBytewise, type DeepReadonly } from '@multiplane/apimachinery';
import type { APIExport } from '@multiplane/apis';
import type { Informer, ObjectReference } from '@multiplane/client';

/** An APIExport and its reference. */
export interface LocatedExport {
  readonly reference: ObjectReference;
  readonly object: DeepReadonly<APIExport>;
}

/** Index of APIExports by identity; several exports may share one. Stores references only. */
export class ExportsByIdentity {
  readonly #exports: Informer<APIExport>;
  readonly #references = new Map<string, Map<string, ObjectReference>>();

  constructor(modules: { readonly exports: Informer<APIExport> }) {
    this.#exports = modules.exports;
    this.#exports.addHandlers({
      added: (object, reference) => this.#add(object, reference),
      updated: (object, old, reference) => {
        if (identityOf(object) === identityOf(old)) return;
        this.#delete(old, reference);
        this.#add(object, reference);
      },
      deleted: (old, reference) => this.#delete(old, reference),
    });
  }

  /** Ordered by logical cluster, then name. */
  of(identity: string): LocatedExport[] {
    return [...(this.#references.get(identity)?.values() ?? [])]
      .sort((a, b) => compareBytewise(a.cluster, b.cluster) || compareBytewise(a.name, b.name))
      .flatMap((reference) => {
        const object = this.#exports.get(reference);
        return object === undefined || identityOf(object) !== identity ? [] : [{ reference, object }];
      });
  }

  #add(object: DeepReadonly<APIExport>, reference: ObjectReference): void {
    const identity = identityOf(object);
    if (identity === '') return;
    let references = this.#references.get(identity);
    if (references === undefined) this.#references.set(identity, (references = new Map<string, ObjectReference>()));
    references.set(keyOf(reference), reference);
  }

  #delete(object: DeepReadonly<APIExport>, reference: ObjectReference): void {
    const identity = identityOf(object);
    const references = this.#references.get(identity);
    if (references?.delete(keyOf(reference)) === true && references.size === 0) this.#references.delete(identity);
  }
}

const keyOf = ({ cluster, name }: ObjectReference): string => `${cluster}/${name}`;
export const identityOf = (object: DeepReadonly<APIExport>): string => object.status?.identityHash ?? '';

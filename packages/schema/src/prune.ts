import { type Json, type JsonObject } from '@multiplane/apimachinery';
import { objectMetaNode } from './object-meta-node.ts';
import { ARRAY, OBJECT, type SchemaNode } from './schema-node.ts';

/** Fields that every API object has beside its schema's own. */
const isMetaField = (name: string): boolean => name === 'metadata' || name === 'apiVersion' || name === 'kind';

/**
 * Removes what the schema does not know, in place, and names it. Unknown is a field that neither `properties`
 * nor `additionalProperties` covers, unless its object preserves unknown fields; below a preserving object the fields
 * that are named are pruned again. Of the metadata (of the object itself and of embedded resources) only unknown
 * fields go; whether it is well-formed is checked elsewhere.
 */
export class Pruner {
  readonly #unknown: string[] = [];
  readonly #unknownOfMetadata: string[] = [];
  readonly #unknownOfEmbedded: string[] = [];
  /** The list for the part of the object that is pruned at present. */
  #found = this.#unknown;
  readonly #keepsMetadata: boolean;
  readonly #isTyped: boolean;
  readonly #path: (string | number)[] = [];

  /**
   * `keepsMetadata`: fields of metadata that ObjectMeta does not have stay. `isTyped`: values have the types of the schema, so
   * maps of texts are not looked into; enumerating 100,000 members takes 40 ms.
   */
  constructor(options: { readonly keepsMetadata?: boolean; readonly isTyped?: boolean } = {}) {
    this.#keepsMetadata = options.keepsMetadata === true;
    this.#isTyped = options.isTyped === true;
  }

  /**
   * Paths of unknown fields in the order in which Kubernetes finds them: of the metadata, then of the object, then of the
   * metadata of embedded resources, the last two sorted (customresource_handler.go, unstructuredSchemaCoercer).
   */
  get unknown(): readonly string[] {
    return [...this.#unknownOfMetadata, ...this.#unknown.toSorted(), ...this.#unknownOfEmbedded.toSorted()];
  }

  /** `node` undefined: nothing is known of this place, so everything in it goes. */
  prune(value: Json, node: SchemaNode | undefined, resource = false): void {
    this.#prune(value, node, resource, node?.preserve === true);
  }

  /** What is unknown stays (`keep`) in the object at hand, or in the items of the list at hand. */
  #prune(value: Json, node: SchemaNode | undefined, resource: boolean, keep: boolean): void {
    if (typeof value !== 'object' || value === null) return;
    if (!Array.isArray(value)) {
      if (this.#isTyped && node !== undefined && isMapOfScalars(node)) return;
      this.#pruneFields(value, node, resource || node?.embedded === true, keep);
      return;
    }
    const items = node?.items;
    if (keep && items === undefined) return;
    for (let index = 0; index < value.length; index++) {
      this.#path.push(index);
      this.#prune(value[index] as Json, items, false, keep || items?.preserve === true);
      this.#path.pop();
    }
  }

  #pruneFields(object: JsonObject, node: SchemaNode | undefined, resource: boolean, keep: boolean): void {
    const properties = node?.properties;
    const additional = node?.additional;
    const open = additional !== undefined || node?.additionalBoolean !== undefined;
    for (const name of Object.keys(object)) {
      if (resource && isMetaField(name)) {
        if (name === 'metadata' && !this.#keepsMetadata) this.#pruneMetadata(object[name] as Json);
        continue;
      }
      const known = properties?.get(name);
      if (known !== undefined) {
        this.#descend(object, name, known);
      } else if (open) {
        this.#descend(object, name, additional);
      } else if (!keep) {
        this.#path.push(name);
        this.#found.push(renderPath(this.#path));
        this.#path.pop();
        delete object[name];
      }
    }
  }

  #descend(object: JsonObject, name: string, node: SchemaNode | undefined): void {
    const child = object[name] as Json;
    if (typeof child !== 'object' || child === null) return;
    this.#path.push(name);
    this.prune(child, node);
    this.#path.pop();
  }

  #pruneMetadata(metadata: Json): void {
    if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return;
    this.#found = this.#path.length === 0 ? this.#unknownOfMetadata : this.#unknownOfEmbedded;
    this.#path.push('metadata');
    this.prune(metadata, objectMetaNode());
    this.#path.pop();
    this.#found = this.#unknown;
  }
}

/** Whether objects have any keys, and no values with fields of their own. */
const isMapOfScalars = ({ properties, additional }: SchemaNode): boolean =>
  properties === undefined &&
  additional !== undefined &&
  additional.types !== 0 &&
  (additional.types & (OBJECT | ARRAY)) === 0;

/** `spec.ports[0].name`. */
export function renderPath(path: readonly (string | number)[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? part : `.${part}`;
  }
  return text;
}

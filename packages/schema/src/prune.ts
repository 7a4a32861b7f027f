import { type Json, type JsonObject } from '@multiplane/apimachinery';
import { objectMetaNode } from './object-meta-node.ts';
import type { SchemaNode } from './schema-node.ts';

/** Fields that every API object has beside its schema's own. */
const isMetaField = (name: string): boolean => name === 'metadata' || name === 'apiVersion' || name === 'kind';

/**
 * Removes what the schema does not know, in place, and names it (K5.5). Unknown is a field that neither `properties`
 * nor `additionalProperties` covers, unless its object preserves unknown fields; below a preserving object the fields
 * that are named are pruned again. Of the metadata (of the object itself and of embedded resources) only unknown
 * fields go; whether it is well-formed is checked elsewhere.
 */
export class Pruner {
  readonly unknown: string[] = [];
  readonly #path: (string | number)[] = [];

  /** `node` undefined: nothing is known of this place, so everything in it goes. */
  prune(value: Json, node: SchemaNode | undefined, resource = false): void {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      const items = node?.items;
      const keep = node?.preserve === true;
      if (keep && items === undefined) return;
      for (let index = 0; index < value.length; index++) {
        const item = value[index] as Json;
        if (typeof item !== 'object' || item === null) continue;
        this.#path.push(index);
        if (keep) this.#pruneObject(item, items, items?.embedded === true, true);
        else this.prune(item, items);
        this.#path.pop();
      }
      return;
    }
    this.#pruneObject(value, node, resource || node?.embedded === true, node?.preserve === true);
  }

  #pruneObject(value: Json, node: SchemaNode | undefined, resource: boolean, keepUnknown: boolean): void {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      // Items of a list in a preserving place: their unknown fields stay, too.
      if (node?.items !== undefined)
        for (const item of value) this.#pruneObject(item, node.items, node.items.embedded, true);
      return;
    }
    const properties = node?.properties;
    const additional = node?.additional;
    const open = additional !== undefined || node?.additionalBoolean !== undefined;
    for (const name of Object.keys(value)) {
      if (resource && isMetaField(name)) {
        if (name === 'metadata') this.#pruneMetadata(value[name] as Json);
        continue;
      }
      const known = properties?.get(name);
      if (known !== undefined) {
        this.#descend(value, name, known);
      } else if (open) {
        this.#descend(value, name, additional);
      } else if (!keepUnknown) {
        this.#path.push(name);
        this.unknown.push(renderPath(this.#path));
        this.#path.pop();
        delete value[name];
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
    this.#path.push('metadata');
    this.prune(metadata, objectMetaNode());
    this.#path.pop();
  }
}

/** `spec.ports[0].name`. */
export function renderPath(path: readonly (string | number)[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? part : `.${part}`;
  }
  return text;
}

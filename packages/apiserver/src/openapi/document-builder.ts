import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { buildOpenAPIv2, buildOpenAPIv3, type OpenAPIDefinitions } from '@multiplane/schema';
import { openApiResourceOf } from './openapi-surface.ts';
import { encodeDefinition, encodeDocument, encodePath } from './protobuf-document.ts';

export interface DocumentBuilderModules {
  readonly definitions: OpenAPIDefinitions;
  /** Milliseconds of a steady clock. */
  readonly now: () => number;
  /** Lets everything else have its turn. */
  readonly yield: () => Promise<void>;
}

/** Nothing may hold the event loop longer than 50 ms; a slice of building ends well before. */
const sliceMilliseconds = 10;

/**
 * Builds documents one resource at a time, each encoded at once, and lets others work in between: a tenant with
 * hundreds of large definitions must not be felt by its neighbours. The document is put together from those pieces,
 * so it never exists as one tree.
 */
export class DocumentBuilder {
  readonly #modules: DocumentBuilderModules;
  constructor(modules: DocumentBuilderModules) {
    this.#modules = modules;
  }

  /** OpenAPI v3 of the resources of one group version. */
  v3(definitions: readonly ResourceDefinition[]): Promise<Buffer> {
    return this.#build(definitions, (document) => document, ['paths', 'components.schemas']);
  }

  /** OpenAPI v2 of all resources of a surface. */
  v2(definitions: readonly ResourceDefinition[]): Promise<Buffer> {
    const { version } = this.#modules.definitions;
    return this.#build(definitions, (document) => buildOpenAPIv2([document], version), ['paths', 'definitions']);
  }

  /** The same as protobuf. */
  async v2Protobuf(definitions: readonly ResourceDefinition[]): Promise<Buffer> {
    const { version } = this.#modules.definitions;
    const encoders = { paths: encodePath, definitions: encodeDefinition };
    const { frame, pieces } = await this.#collect(
      definitions,
      (document) => buildOpenAPIv2([document], version),
      ['paths', 'definitions'],
      (value, key, place) => encoders[place as keyof typeof encoders](key, value),
    );
    const sorted = (place: string): Buffer[] =>
      [...(pieces.get(place) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, piece]) => piece);
    return encodeDocument(frame, sorted('paths'), sorted('definitions'));
  }

  async #build(
    definitions: readonly ResourceDefinition[],
    convert: (document: JsonObject) => JsonObject,
    merged: readonly string[],
  ): Promise<Buffer> {
    const { frame, pieces } = await this.#collect(definitions, convert, merged, (value) => JSON.stringify(value));
    const text: string[] = [];
    writeFrame(frame, '', pieces, text);
    return Buffer.from(text.join(''));
  }

  /** The members of the merged places, encoded one by one, and the last document as the frame for them. */
  async #collect<P>(
    definitions: readonly ResourceDefinition[],
    convert: (document: JsonObject) => JsonObject,
    merged: readonly string[],
    encode: (value: Json, key: string, place: string) => P,
  ): Promise<{ frame: JsonObject; pieces: Map<string, Map<string, P>> }> {
    const pieces = new Map<string, Map<string, P>>(merged.map((place) => [place, new Map()]));
    let frame: JsonObject = {};
    let sliceStart = this.#modules.now();
    for (const definition of definitions) {
      if (this.#modules.now() - sliceStart > sliceMilliseconds) {
        await this.#modules.yield();
        sliceStart = this.#modules.now();
      }
      frame = convert(buildOpenAPIv3(definition, [openApiResourceOf(definition)], this.#modules.definitions));
      for (const [place, known] of pieces) {
        const map = memberOf(frame, place);
        for (const key of Object.keys(map)) {
          if (!known.has(key)) known.set(key, encode(map[key] as Json, key, place));
        }
      }
    }
    return { frame, pieces };
  }
}

function memberOf(document: JsonObject, place: string): JsonObject {
  let value: Json | undefined = document;
  for (const key of place.split('.')) value = isJsonObject(value) ? value[key] : undefined;
  return isJsonObject(value) ? value : {};
}

/** Writes the last document with the collected pieces in the place of its own. */
function writeFrame(
  value: JsonObject,
  place: string,
  pieces: ReadonlyMap<string, ReadonlyMap<string, string>>,
  text: string[],
): void {
  const collected = pieces.get(place);
  const keys = collected === undefined ? Object.keys(value) : [...collected.keys()].sort();
  text.push('{');
  for (const [index, key] of keys.entries()) {
    text.push(index === 0 ? '' : ',', JSON.stringify(key), ':');
    const piece = collected?.get(key);
    const inner = place === '' ? key : `${place}.${key}`;
    const member = value[key] as Json;
    if (piece !== undefined) text.push(piece);
    else if (isJsonObject(member) && holdsPieces(inner, pieces)) writeFrame(member, inner, pieces, text);
    else text.push(JSON.stringify(member));
  }
  text.push('}');
}

function holdsPieces(place: string, pieces: ReadonlyMap<string, unknown>): boolean {
  for (const name of pieces.keys()) if (name === place || name.startsWith(`${place}.`)) return true;
  return false;
}

import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import type { Document, LineCounter, Node, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import { quote } from '../go/go-quote.ts';
import { runToCompletion } from '../async/run-to-completion.ts';
import {
  bodyLimits,
  JsonSyntaxError,
  JsonWidthError,
  maxJsonDepth,
  parseJsonIncrementally,
} from '../json/json-codec.ts';
import { setOwn, type Json, type JsonArray, type JsonObject } from '../json/json.ts';
import { resolvePlainScalar } from './yaml-scalar.ts';

export { encodeYaml, encodeYamlIncrementally } from './yaml-encoder.ts';

/** The library is loaded by the first text that is not JSON: servers see little of that, and in a thread of its own. */
const load = createRequire(import.meta.url);
const library = (): typeof Yaml => load('yaml') as typeof Yaml;

/** Text that is not YAML, or that no JSON value corresponds to. The message begins with `yaml: `. */
export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError';
  /** Where the one collection of a text in flow style ends, after which the text goes on without another document. */
  end: number | undefined;
}

/** Nodes that aliases may bring in besides those that stand in the text: enough for people, too few for a bomb. */
const maxAliasedNodes = 100_000;

export interface ParsedYaml {
  readonly value: Json;
  /** One text per key that stands twice in its mapping: `line 5: key "a" already set in map`. */
  readonly duplicates: string[];
}

/**
 * Parses one YAML 1.1 document as Kubernetes' server does (its first one, if there are several): `y`, `no`, `0x1F` and
 * the like are booleans and numbers, keys become text, merge keys are merged, aliases are copied. Of equal keys the
 * last wins. Throws {@link YamlSyntaxError}.
 */
export function parseYaml(text: string | Buffer): Json {
  return parseYamlStrict(text).value;
}

/** {@link parseYaml} and what `fieldValidation` has to say of repeated keys. */
export function parseYamlStrict(text: string | Buffer): ParsedYaml {
  return runToCompletion(parseYamlIncrementally(text));
}

/** {@link parseYamlStrict} with pauses, if the text is JSON. */
export function* parseYamlIncrementally(text: string | Buffer): Generator<void, ParsedYaml> {
  const source = (typeof text === 'string' ? text : text.toString('utf8')).toWellFormed();
  const json = yield* parseJsonAsYamlIncrementally(source);
  if (json !== undefined) return json;
  const lines = new (library().LineCounter)();
  try {
    const contents = firstDocument(source, lines)?.contents ?? null;
    const decoder = new Decoder(lines);
    return { value: contents === null ? null : decoder.decode(contents, 0), duplicates: decoder.duplicates };
  } catch (error) {
    if (error instanceof RangeError) throw new YamlSyntaxError(tooDeep, { cause: error });
    // As in goyaml, whatever follows is left for the next document, which is not read.
    if (error instanceof YamlSyntaxError && error.end !== undefined) return parseYamlStrict(source.slice(0, error.end));
    throw error;
  }
}

const tooDeep = 'yaml: exceeded max depth';

/**
 * The nodes of the first document. Ends with the first fault: the library would go on and make an error of every byte
 * of a hostile text.
 */
function firstDocument(source: string, lines: LineCounter): Document | undefined {
  // The composer catches what is thrown inside it, once per level, and reports it as another fault.
  let first: YamlSyntaxError | undefined;
  const fail = (at: number, message: string): never => {
    // It recurses, and what exhausts the stack nests deeper than any limit of ours.
    const isDeep = message.startsWith('Maximum call stack');
    first ??= new YamlSyntaxError(isDeep ? tooDeep : `yaml: line ${lines.linePos(at).line}: ${message}`);
    if (/^\s*[{[]/.test(source) && message.endsWith('at node end')) first.end ??= at;
    throw first;
  };
  const { Composer, Parser } = library();
  const composer = new Composer({ version: '1.1', schema: 'failsafe', uniqueKeys: false, logLevel: 'silent' });
  (composer as unknown as { onError: ComposeErrorHandler }).onError = (place, _code, message, warning) => {
    if (warning !== true) fail(offsetOf(place), message);
  };
  let begun = false;
  for (const token of new Parser(lines.addNewLine).parse(source)) {
    if (token.type === 'directive' && !begun && /^%YAML\s+(?!1\.1(\s|$))/.test(token.source))
      throw new YamlSyntaxError('yaml: found incompatible YAML document');
    if (token.type === 'error') {
      fail(token.offset, token.source === '' ? token.message : `${token.message}: ${JSON.stringify(token.source)}`);
    }
    if (token.type === 'document') {
      if (begun) break;
      begun = true;
    }
    // Nothing comes out before the end, or before a second document.
    for (const document of composer.next(token)) return document;
  }
  for (const document of composer.end(true, source.length)) return document;
  return undefined;
}

type ErrorPlace = number | readonly [number, number] | { readonly offset: number };
type ComposeErrorHandler = (place: ErrorPlace, code: string, message: string, warning?: boolean) => void;

function offsetOf(place: ErrorPlace): number {
  if (typeof place === 'number') return place;
  return 'offset' in place ? place.offset : place[0];
}

/** Whether a text may be JSON after all. */
export const mayBeJson = (source: string): boolean => /^\s*\{/.test(source);

/**
 * Most "YAML" is JSON, above all the apply patches of clients: read it at the speed of JSON. Undefined when it is not,
 * or when names stand twice (the line numbers of YAML are wanted then). Throws {@link YamlSyntaxError} for an object with too many
 * members.
 */
export function* parseJsonAsYamlIncrementally(source: string): Generator<void, ParsedYaml | undefined> {
  if (!mayBeJson(source)) return undefined;
  try {
    const { value, duplicates } = yield* parseJsonIncrementally(source, true, { limits: bodyLimits });
    return duplicates.length === 0 ? { value, duplicates: [] } : undefined;
  } catch (error) {
    // The library would read all of it, for seconds, before it is refused.
    if (error instanceof JsonWidthError) throw new YamlSyntaxError(`yaml: ${error.message}`, { cause: error });
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/** Turns the nodes of one document into JSON; bounds depth and the growth by aliases. */
class Decoder {
  readonly #yaml = library();
  readonly duplicates: string[] = [];
  readonly #lines: LineCounter;
  readonly #expanding = new Set<Node>();
  /** Nodes by their anchors, as far as the document was read: an alias means the last one before it. */
  readonly #anchors = new Map<string, Node>();
  #aliasedNodes = 0;

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  decode(node: unknown, depth: number): Json {
    if (this.#expanding.size > 0 && ++this.#aliasedNodes > maxAliasedNodes)
      throw new YamlSyntaxError('yaml: document contains excessive aliasing');
    if (
      this.#yaml.isNode(node) &&
      !this.#yaml.isAlias(node) &&
      node.anchor !== undefined &&
      this.#expanding.size === 0
    ) {
      this.#anchors.set(node.anchor, node);
    }
    if (this.#yaml.isScalar(node)) return this.#scalar(node);
    if (node === null || node === undefined) return null;
    if (depth >= maxJsonDepth) throw new YamlSyntaxError(tooDeep);
    if (this.#yaml.isMap(node)) return this.#map(node, depth + 1);
    if (this.#yaml.isSeq(node)) return this.#list(node, depth + 1);
    return this.#alias(node, depth);
  }

  #alias(node: unknown, depth: number): Json {
    if (!this.#yaml.isAlias(node)) throw new YamlSyntaxError('yaml: unsupported node');
    const target = this.#anchors.get(node.source);
    if (target === undefined) throw new YamlSyntaxError(`yaml: unknown anchor '${node.source}' referenced`);
    if (this.#expanding.has(target)) throw new YamlSyntaxError(`yaml: anchor '${node.source}' value contains itself`);
    this.#expanding.add(target);
    const value = this.decode(target, depth);
    this.#expanding.delete(target);
    return value;
  }

  #scalar(node: Scalar): Json {
    const text = node.source ?? (typeof node.value === 'string' ? node.value : '');
    const plain = node.type === 'PLAIN' || node.type === undefined;
    const { tag } = node;
    if (tag === undefined || tag === '!') return plain && tag === undefined ? this.#plain(text, node) : textOf(node);
    switch (tag) {
      case 'tag:yaml.org,2002:str':
        return textOf(node);
      case 'tag:yaml.org,2002:binary':
        return Buffer.from(textOf(node), 'base64').toString('utf8');
      default:
        return this.#plain(textOf(node), node);
    }
  }

  #plain(text: string, node: Scalar): Json {
    const value = resolvePlainScalar(text);
    if (value === undefined) throw new YamlSyntaxError(`yaml: line ${this.#line(node)}: unsupported value: ${text}`);
    return value;
  }

  #list(node: YAMLSeq, depth: number): JsonArray {
    return node.items.map((item) => this.decode(item, depth));
  }

  #map(node: YAMLMap, depth: number): JsonObject {
    const object: JsonObject = {};
    const merged: JsonObject[] = [];
    for (const { key, value } of node.items) {
      if (this.#yaml.isScalar(key) && key.source === '<<' && key.type === 'PLAIN') {
        merged.push(...this.#merged(value, depth));
        continue;
      }
      const name = this.#key(key, depth);
      if (Object.hasOwn(object, name) && this.#expanding.size === 0) {
        this.duplicates.push(`line ${this.#line(key)}: key ${quote(name)} already set in map`);
      }
      setOwn(object, name, this.decode(value, depth));
    }
    for (const source of merged) {
      for (const name of Object.keys(source))
        if (!Object.hasOwn(object, name)) setOwn(object, name, source[name] as Json);
    }
    return object;
  }

  /** The mappings that a merge key brings in, the strongest first. */
  #merged(value: unknown, depth: number): JsonObject[] {
    const json = this.decode(value, depth);
    const sources = Array.isArray(json) ? json : [json];
    return sources.map((source) => {
      if (typeof source !== 'object' || source === null || Array.isArray(source)) {
        throw new YamlSyntaxError('yaml: map merge requires map or sequence of maps as the value');
      }
      return source;
    });
  }

  #key(key: unknown, depth: number): string {
    const value = this.decode(key, depth);
    if (value === null || typeof value === 'object')
      throw new YamlSyntaxError(`yaml: line ${this.#line(key)}: invalid map key`);
    return typeof value === 'string' ? value : String(value);
  }

  #line(node: unknown): number {
    const range = typeof node === 'object' && node !== null ? (node as Node).range : undefined;
    return range === undefined || range === null ? 0 : this.#lines.linePos(range[0]).line;
  }
}

const textOf = (node: Scalar): string => (typeof node.value === 'string' ? node.value : (node.source ?? ''));

import { runToCompletion } from '../async/run-to-completion.ts';
import { readJson, readJsonIncrementally, type JsonLimits, type JsonTextDetails } from './json-reader.ts';
import { endOfJsonString } from './json-encoder.ts';
import type { Json } from './json.ts';

export {
  JsonNumberError,
  JsonSyntaxError,
  JsonWidthError,
  type JsonLimits,
  type JsonTextDetails,
  type RepeatedMember,
} from './json-reader.ts';
export {
  compareBytewise,
  encodeJson,
  encodeJsonGo,
  encodeJsonGoIncrementally,
  indentedJsonParts,
  encodeJsonIncrementally,
  encodeMembersIncrementally,
  type EncodeJsonGoOptions,
} from './json-encoder.ts';

/**
 * How deep objects and lists may nest. Go's decoder allows 10 000, but the engine's own `JSON.stringify` already
 * exhausts the call stack near 5 000, as does any recursive walk: what could be read but never written is refused.
 */
export const maxJsonDepth = 1_000;

/**
 * Members of one object in a request, and of what a patch or an apply makes of an object. V8 enumerates the names of an object in one step, which takes 25 ms for so many. Their
 * ownership in managedFields is longer than the members themselves: an object with 80,000 members of the shortest names does not fit
 * into etcd's request size.
 */
export const maxJsonMembers = 65_536;

/**
 * Values (scalars, objects and lists) of one request, of an answer of a webhook, and of a stored object with its managedFields. Each stage of
 * a write takes time in proportion to them, and 3 MB of text may have a million. Enough for the largest objects of known projects (105,000
 * values) with managedFields that own each of them, so that clients can write what they read.
 */
export const maxJsonValues = 210_000;

/** The limits of everything that clients and webhooks send. */
export const bodyLimits: JsonLimits = { maxMembers: maxJsonMembers, maxValues: maxJsonValues };

export interface ParseJsonOptions {
  /** Receives what the value does not show of its text; left empty by a text without such parts. */
  readonly details?: JsonTextDetails | undefined;
  /** Default {@link maxJsonDepth}. Beyond: JsonSyntaxError `exceeded max depth`. */
  readonly maxDepth?: number | undefined;
}

/** So many members and items, objects and lists together take the engine some 10 ms. */
const manyParts = 20_000;

/** Paths of members that stand twice: so many are collected whatever they take, and so much text of them. */
const toldPaths = 100;
const maxPathCharacters = 1024 * 1024;

const surrogateEscape = /\\u[dD][89a-fA-F]/;

/**
 * Parses JSON as Kubernetes' API server reads it: integers of 64 bits exactly (bigint beyond 2^53), invalid UTF-8 and
 * lone surrogates become U+FFFD, the last of equal names wins, names such as `__proto__` are own properties.
 * Throws {@link JsonSyntaxError}.
 */
export function parseJson(text: string | Buffer, options: ParseJsonOptions = {}): Json {
  const source = textOf(text);
  const maxDepth = options.maxDepth ?? maxJsonDepth;
  return parseFast(source, Scan.of(source), maxDepth) ?? readJson(source, { maxDepth });
}

/** Undefined when the fast way could go wrong or failed (`null` too: it is cheap to read again). */
function parseFast(source: string, { depth, exact }: Scan, maxDepth: number): Json | undefined {
  if (!exact || depth > maxDepth) return undefined;
  if (source.includes('\\u') && surrogateEscape.test(source)) return undefined;
  try {
    return (JSON.parse(source) as Json | null) ?? undefined;
  } catch {
    return undefined; // The careful reader fails at the same place, with Go's message.
  }
}

/**
 * {@link parseJson} and the paths of members that stand twice in one object (`spec.ports[0].name`, each once, in the
 * order of the text), for `fieldValidation` Warn and Strict. Costs one more pass over the text; the slow search runs
 * only if the text holds more members than the parsed value.
 */
export function parseJsonStrict(text: string | Buffer, options: ParseJsonOptions = {}): StrictlyParsed {
  const source = textOf(text);
  const { maxDepth = maxJsonDepth, details } = options;
  const shape = Scan.of(source);
  return (
    parseFastStrict(source, shape, { maxDepth, details }) ??
    runToCompletion(readWithDuplicates(source, { maxDepth, details }))
  );
}

/** What {@link parseJsonStrict} finds. */
export interface StrictlyParsed {
  readonly value: Json;
  readonly duplicates: string[];
}

/**
 * {@link parseJsonStrict} of a long text, or {@link parseJson} of it (`strict` false), with pauses: what has many parts
 * is not left to the engine, which reads it in one piece. Beyond `limits`: JsonWidthError. Default: no limits.
 */
export function* parseJsonIncrementally(
  text: string | Buffer,
  strict: boolean,
  { details, limits }: { details?: JsonTextDetails | undefined; limits?: JsonLimits | undefined } = {},
): Generator<void, StrictlyParsed> {
  const source = textOf(text);
  const shape = new Scan();
  for (let at = 0; at < source.length; at = shape.read(source, at, at + charactersPerPass)) yield;
  yield;
  if (Math.max(shape.members, shape.commas) + shape.containers < manyParts) {
    const fast = strict
      ? parseFastStrict(source, shape, { maxDepth: maxJsonDepth, details })
      : withoutDuplicates(parseFast(source, shape, maxJsonDepth));
    if (fast !== undefined) return fast;
  }
  const options = { maxDepth: maxJsonDepth, limits };
  if (strict) return yield* readWithDuplicates(source, { ...options, details });
  return { value: yield* readJsonIncrementally(source, options), duplicates: [] };
}

interface StrictOptions {
  readonly maxDepth: number;
  readonly limits?: JsonLimits | undefined;
  readonly details: JsonTextDetails | undefined;
}

function parseFastStrict(
  source: string,
  shape: Scan,
  { maxDepth, details }: StrictOptions,
): StrictlyParsed | undefined {
  if (details !== undefined && shape.hasFractions) return undefined;
  const value = parseFast(source, shape, maxDepth);
  return value !== undefined && countMembers(value) === shape.members ? { value, duplicates: [] } : undefined;
}

/** Different paths. Deep paths of a hostile text would take gigabytes, so only as many as are reported are kept. */
class BoundedPaths {
  readonly #paths = new Set<string>();
  #characters = 0;

  get all(): string[] {
    return [...this.#paths];
  }

  add(path: () => string): string | undefined {
    if (this.#characters > maxPathCharacters && this.#paths.size >= toldPaths) return undefined;
    const text = path();
    this.#paths.add(text);
    this.#characters += text.length;
    return text;
  }
}

const withoutDuplicates = (value: Json | undefined): StrictlyParsed | undefined =>
  value === undefined ? undefined : { value, duplicates: [] };

function* readWithDuplicates(source: string, options: StrictOptions): Generator<void, StrictlyParsed> {
  const paths = new BoundedPaths();
  const value = yield* readJsonIncrementally(source, { ...options, onDuplicate: (path) => paths.add(path) });
  return { value, duplicates: paths.all };
}

function textOf(text: string | Buffer): string {
  if (typeof text !== 'string') return text.toString('utf8');
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** Characters that are scanned in one pass. */
const charactersPerPass = 512 * 1024;

/** What a text is made of. Says nothing useful about text that is not JSON. */
class Scan {
  depth = 0;
  /** Colons outside strings: members of all objects, repeated ones counted each time. */
  members = 0;
  /** Commas outside strings: about the members of objects and items of lists. */
  commas = 0;
  /** Objects and lists. */
  containers = 0;
  /** False when `JSON.parse` could lose digits of an integer (16 and more) or make an infinity (an exponent). */
  exact = true;
  /** A number has a fraction. */
  hasFractions = false;
  #open = 0;
  #digits = 0;

  static of(source: string): Scan {
    const scan = new Scan();
    scan.read(source, 0, source.length);
    return scan;
  }

  /** Goes on at `start`, and returns where it ended: at `end`, or after a string. Jumps over strings: a third of the time of `JSON.parse`. */
  read(source: string, start: number, end: number): number {
    const last = Math.min(end, source.length);
    let depth = this.#open;
    let deepest = this.depth;
    let members = 0;
    let commas = 0;
    let containers = 0;
    let digits = this.#digits;
    let index = start;
    for (; index < last; index++) {
      const code = source.charCodeAt(index);
      if (code >= 0x30 && code <= 0x39) {
        if (++digits === 16) this.exact = false;
        continue;
      }
      switch (code) {
        case 0x22: // "
          index = endOfJsonString(source, index);
          break;
        case 0x3a: // :
          members++;
          break;
        case 0x2c: // ,
          commas++;
          break;
        case 0x7b: // {
        case 0x5b: // [
          containers++;
          depth++;
          if (depth > deepest) deepest = depth;
          break;
        case 0x7d: // }
        case 0x5d: // ]
          depth--;
          break;
        case 0x2e: // .
          this.hasFractions = true;
          break;
        case 0x65: // e
        case 0x45: // E
          if (digits > 0) this.exact = false;
          break;
      }
      digits = 0;
    }
    this.#open = depth;
    this.depth = deepest;
    this.members += members;
    this.commas += commas;
    this.containers += containers;
    this.#digits = digits;
    return index;
  }
}

function countMembers(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && item !== null) count += countMembers(item);
    return count;
  }
  for (const key of Object.keys(value)) {
    count++;
    const item = value[key];
    if (typeof item === 'object' && item !== null) count += countMembers(item);
  }
  return count;
}

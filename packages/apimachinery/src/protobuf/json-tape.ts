import { isUtf8 } from 'node:buffer';
import { emptyHash, hashByte } from './field-names.ts';
import type { CompiledField, MessageType } from './message-type.ts';

/** Numbers per value in {@link JsonTape.nodes}. */
export const nodeSize = 7;
/** Offsets in a node: its type and flags, its bytes (of a string without quotes), the node after it and what it contains. */
export const nodeStart = 1;
export const nodeEnd = 2;
export const nodeNext = 3;
/** Of a member of an object: its name, without quotes and as it is spelled. */
export const nodeNameStart = 4;
export const nodeNameEnd = 5;
/** The hash of these bytes; of a member of a typed object the index of its field, -1 if the message has none of this name. */
export const nodeName = 6;

export const typeMask = 0xf;
export const stringType = 1;
/** At most 15 digits and a sign. */
export const integerType = 2;
export const trueType = 3;
export const falseType = 4;
export const nullType = 5;
export const objectType = 6;
export const listType = 7;
/** Of a string: it has escape sequences. */
export const escapedFlag = 0x10;
/** Of an object: a name has escape sequences or characters beyond ASCII. */
export const wideNamesFlag = 0x20;
/** Of an object: its members are looked up. */
export const typedFlag = 0x40;

const maxNodes = 4_096;
const maxDepth = 100;
const maxDigits = 15;
/** The ends of longer strings are found by the engine: a call into it costs as much as some dozens of bytes. */
const nearBytes = 40;
const failed = -1;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

const trueText = Buffer.from('true');
const falseText = Buffer.from('false');
const nullText = Buffer.from('null');

/**
 * The places of the values in a JSON text, without decoding them: one node per value in the order of the text, so the
 * first member of an object directly follows the object, and {@link nodeNext} leads to the next one. Raw JSON and values
 * that the message has no field for are one node each.
 *
 * It reads valid JSON as this server stores it: compact, and with escape sequences only where `JSON.stringify` needs them.
 * {@link read} rejects what it could read wrongly: white space, numbers that are no integers of at most 15 digits, other escape sequences,
 * invalid UTF-8. The memory is reused by the next text.
 */
export class JsonTape {
  readonly nodes = new Int32Array(maxNodes * nodeSize);
  bytes: Buffer = Buffer.alloc(0);
  #used = 0;
  /** There is no backslash from here on to the place that was read; -1: in no place behind it. */
  #backslash = 0;
  /** Of the string or name that was read last. */
  #isEscaped = false;
  #isWide = false;
  #hash = 0;

  /** Reads the text of a message. False: it has to be parsed. */
  read(bytes: Buffer, type: MessageType): boolean {
    this.bytes = bytes;
    this.#used = 0;
    this.#backslash = 0;
    return isUtf8(bytes) && this.#value(0, 0, type.hasInlined ? undefined : type, false) === bytes.length;
  }

  /** Reads a value into the next node; returns where it ends. `isRaw`: what it contains does not matter. */
  #value(at: number, depth: number, type: MessageType | undefined, isRaw: boolean): number {
    const { nodes, bytes } = this;
    const node = this.#used;
    if (node === nodes.length || depth > maxDepth) return failed;
    this.#used = node + nodeSize;
    switch (bytes[at]) {
      case quote: {
        const end = this.#string(at + 1);
        if (end === failed) return failed;
        this.#finish(node, this.#isEscaped ? stringType | escapedFlag : stringType, at + 1, end);
        return end + 1;
      }
      case openBrace:
        return isRaw ? this.#skip(node, objectType, at) : this.#object(node, at, depth, type);
      case openBracket:
        return isRaw ? this.#skip(node, listType, at) : this.#list(node, at, depth, type);
      case 0x74:
        return this.#literal(node, trueType, at, trueText);
      case 0x66:
        return this.#literal(node, falseType, at, falseText);
      case 0x6e:
        return this.#literal(node, nullType, at, nullText);
      default:
        return this.#integer(node, at);
    }
  }

  #finish(node: number, type: number, start: number, end: number): number {
    const { nodes } = this;
    nodes[node] = type;
    nodes[node + nodeStart] = start;
    nodes[node + nodeEnd] = end;
    nodes[node + nodeNext] = this.#used;
    return end;
  }

  #object(node: number, start: number, depth: number, message: MessageType | undefined): number {
    const { bytes, nodes } = this;
    let type = message === undefined ? objectType : objectType | typedFlag;
    let at = start + 1;
    let previous = -1;
    if (bytes[at] === closeBrace) return this.#finish(node, type, start, at + 1);
    for (;;) {
      if (bytes[at] !== quote) return failed;
      const nameStart = at + 1;
      let name = message === undefined ? -1 : message.names.follower(bytes, nameStart, previous);
      let nameEnd: number;
      if (message !== undefined && name >= 0) {
        nameEnd = nameStart + message.names.lengthOf(name);
      } else {
        nameEnd = this.#name(nameStart);
        if (nameEnd === failed) return failed;
        if (this.#isEscaped || this.#isWide) type |= wideNamesFlag;
        name = this.#hash;
        if (message !== undefined) {
          name = message.names.find(bytes, nameStart, nameEnd, name);
          if (name >= 0) message.names.setFollower(previous, name);
        }
      }
      if (bytes[nameEnd + 1] !== colon) return failed;
      const member = this.#used;
      if (message === undefined) {
        at = this.#value(nameEnd + 2, depth + 1, undefined, false);
      } else {
        previous = name;
        const field = name < 0 ? undefined : message.reversed[name];
        at = this.#value(nameEnd + 2, depth + 1, contentOf(field), field === undefined || isOneNode(field));
      }
      if (at === failed) return failed;
      nodes[member + nodeNameStart] = nameStart;
      nodes[member + nodeNameEnd] = nameEnd;
      nodes[member + nodeName] = name;
      const next = bytes[at++];
      if (next === comma) continue;
      return next === closeBrace ? this.#finish(node, type, start, at) : failed;
    }
  }

  /** `type`: of its items. */
  #list(node: number, start: number, depth: number, type: MessageType | undefined): number {
    const { bytes } = this;
    let at = start + 1;
    if (bytes[at] === closeBracket) return this.#finish(node, listType, start, at + 1);
    for (;;) {
      at = this.#value(at, depth + 1, type, false);
      if (at === failed) return failed;
      const next = bytes[at++];
      if (next === comma) continue;
      return next === closeBracket ? this.#finish(node, listType, start, at) : failed;
    }
  }

  /** An object or list with all that it contains. */
  #skip(node: number, type: number, start: number): number {
    const { bytes } = this;
    let depth = 0;
    for (let at = start; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === quote) {
        at = this.#string(at + 1);
        if (at === failed) return failed;
      } else if (byte === openBrace || byte === openBracket) {
        depth++;
      } else if ((byte === closeBrace || byte === closeBracket) && --depth === 0) {
        return this.#finish(node, type, start, at + 1);
      }
    }
    return failed;
  }

  /** The place of the quote that ends a string. */
  #string(start: number): number {
    const { bytes } = this;
    this.#isEscaped = false;
    const near = Math.min(start + nearBytes, bytes.length);
    let at = start;
    for (; at < near; at++) {
      const byte = bytes[at];
      if (byte === quote) return at;
      if (byte === backslash) return this.#escapedString(at);
    }
    const end = bytes.indexOf(quote, at);
    if (this.#backslash >= 0 && this.#backslash < at) this.#backslash = bytes.indexOf(backslash, at);
    return this.#backslash >= 0 && this.#backslash < end ? this.#escapedString(at) : end;
  }

  #escapedString(from: number): number {
    const { bytes } = this;
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === quote) return at;
      if (byte !== backslash) continue;
      if (!isShortEscape(bytes[++at])) return failed;
      this.#isEscaped = true;
    }
    return failed;
  }

  /** The same for the name of a member, with its hash. */
  #name(start: number): number {
    const { bytes } = this;
    this.#isEscaped = false;
    this.#isWide = false;
    let hash = emptyHash;
    for (let at = start; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte === quote) {
        this.#hash = hash;
        return at;
      }
      hash = hashByte(hash, byte);
      if (byte === backslash) {
        if (!isShortEscape(bytes[++at])) return failed;
        this.#isEscaped = true;
      } else if (byte > 0x7f) {
        this.#isWide = true;
      }
    }
    return failed;
  }

  #literal(node: number, type: number, at: number, text: Buffer): number {
    const { bytes } = this;
    for (let index = 1; index < text.length; index++) if (bytes[at + index] !== text[index]) return failed;
    return this.#finish(node, type, at, at + text.length);
  }

  #integer(node: number, start: number): number {
    const { bytes } = this;
    const first = bytes[start] === minus ? start + 1 : start;
    let at = first;
    for (let byte = bytes[at]; byte !== undefined && byte >= zero && byte <= nine; byte = bytes[at]) at++;
    const digits = at - first;
    if (digits === 0 || digits > maxDigits) return failed;
    // Neither leading zeros nor a negative zero. A fraction or exponent is no separator, which the caller expects next.
    if (bytes[first] === zero && (digits > 1 || first > start)) return failed;
    return this.#finish(node, integerType, start, at);
  }
}

/** The message whose fields the value of a field has, in an object or in the items of a list. */
function contentOf(field: CompiledField | undefined): MessageType | undefined {
  if (field?.type !== 'message' || field.shape === 'map') return undefined;
  const type = field.message();
  // The names of inlined messages are members of the same object.
  return type.conversion === undefined && !type.hasInlined ? type : undefined;
}

/** Raw JSON and what a conversion parses. */
function isOneNode(field: CompiledField): boolean {
  if (field.shape !== 'single') return false;
  return field.type === 'json' || (field.type === 'message' && field.message().conversion !== undefined);
}

/** One of `\" \\ \b \f \n \r \t`. */
const isShortEscape = (byte: number | undefined): boolean =>
  byte === quote ||
  byte === backslash ||
  byte === 0x62 ||
  byte === 0x66 ||
  byte === 0x6e ||
  byte === 0x72 ||
  byte === 0x74;

import { parseJson } from '../json/json-codec.ts';
import type { Json } from '../json/json.ts';
import {
  JsonTape,
  escapedFlag,
  falseType,
  integerType,
  listType,
  nodeEnd,
  nodeName,
  nodeNameEnd,
  nodeNameStart,
  nodeNext,
  nodeSize,
  nodeStart,
  nullType,
  objectType,
  stringType,
  trueType,
  typeMask,
  typedFlag,
  wideNamesFlag,
} from './json-tape.ts';
import { writeMap, writeText, writeValue, writeValueZero } from './message-encoder.ts';
import { ConvertedTexts } from './converted-texts.ts';
import type { CompiledField, MessageType } from './message-type.ts';
import type { WireWriter } from './wire-writer.ts';

/** Larger texts are parsed: they rarely fit into the memory of {@link JsonTape}. */
const maxTextBytes = 128 * 1024;
/** Maps that are not sorted are sorted here up to this size. */
const fewKeys = 64;
/** No node: the first one is the whole text, so it is never a member. */
const absent = 0;

/**
 * Writes the message of a stored JSON text without making objects and strings of it: with less than half of the work, the same bytes as
 * {@link encodeMessage} of the parsed text.
 *
 * {@link JsonTape} finds the values. Those of a message are assigned to its fields, which are then written in reverse
 * (see {@link WireWriter}): strings and raw JSON as their bytes stand in the text. Values that need more (times, strings with escape
 * sequences, unsorted maps) are parsed one by one and written by the encoder of objects.
 */
export class JsonTranscoder {
  readonly #tape = new JsonTape();
  /** A stack of nodes: the value of each field of a message, the items of a list, the members of a map. */
  #slots = new Int32Array(256);
  #used = 0;
  readonly #texts = new ConvertedTexts();
  #metadata = absent;
  #resourceVersion: string | undefined;

  /**
   * Writes the message of a whole object. `resourceVersion` replaces the one in its metadata. False: nothing was written, and the
   * text has to be parsed.
   */
  write(writer: WireWriter, type: MessageType, json: Buffer, resourceVersion?: string): boolean {
    if (json.length > maxTextBytes || json[0] !== 0x7b || !this.#tape.read(json, type)) return false;
    this.#used = 0;
    this.#metadata = absent;
    this.#resourceVersion = resourceVersion;
    this.#message(writer, type, 0);
    return true;
  }

  #message(writer: WireWriter, { reversed, names }: MessageType, object: number): void {
    const tape = this.#tape;
    const { nodes, bytes } = tape;
    const base = this.#reserve(reversed.length);
    const isTyped = ((nodes[object] as number) & typedFlag) !== 0;
    const end = nodes[object + nodeNext] as number;
    for (let member = object + nodeSize; member < end; member = nodes[member + nodeNext] as number) {
      let index = nodes[member + nodeName] as number;
      if (!isTyped)
        index = names.find(
          bytes,
          nodes[member + nodeNameStart] as number,
          nodes[member + nodeNameEnd] as number,
          index,
        );
      // The last one of equal names counts.
      if (index >= 0) this.#slots[base + index] = member;
    }
    const revision = object !== absent && object === this.#metadata ? this.#resourceVersion : undefined;
    for (let index = 0; index < reversed.length; index++) {
      const field = reversed[index] as CompiledField;
      const value = field.shape === 'inlined' ? object : (this.#slots[base + index] as number);
      const type = field.shape !== 'inlined' && value === absent ? nullType : (nodes[value] as number) & typeMask;
      if (object === 0 && field.name === 'metadata') this.#metadata = value;
      if (field.isText) {
        if (revision !== undefined && field.name === 'resourceVersion') writeText(writer, field.number, revision);
        else if (type === stringType) this.#text(writer, field.number, value);
        else if (field.always) writeText(writer, field.number, '');
      } else if (type !== nullType) {
        this.#field(writer, field, value, type);
      } else if (field.always) {
        writeValueZero(writer, field, field.number);
      }
    }
    this.#used = base;
  }

  #field(writer: WireWriter, field: CompiledField, value: number, type: number): void {
    switch (field.shape) {
      case 'single':
        if (!this.#value(writer, field, field.number, value) && field.always)
          writeValueZero(writer, field, field.number);
        return;
      case 'inlined': {
        const before = writer.length;
        this.#message(writer, field.message(), value);
        writer.delimit(field.number, before);
        return;
      }
      case 'repeated':
        if (type === listType) this.#list(writer, field, value);
        return;
      case 'map':
        if (type === objectType) this.#map(writer, field, value);
    }
  }

  #list(writer: WireWriter, field: CompiledField, list: number): void {
    const base = this.#used;
    const count = this.#children(list);
    for (let index = base + count - 1; index >= base; index--)
      if (!this.#value(writer, field, field.number, this.#slots[index] as number))
        writeValueZero(writer, field, field.number);
    this.#used = base;
  }

  #map(writer: WireWriter, field: CompiledField, map: number): void {
    const { nodes, bytes } = this.#tape;
    const base = this.#used;
    const count = this.#children(map);
    if (((nodes[map] as number) & wideNamesFlag) !== 0 || !this.#sort(base, count)) {
      this.#used = base;
      writeMap(writer, field, this.#json(map) as { [key: string]: Json });
      return;
    }
    for (let index = base + count - 1; index >= base; index--) {
      const member = this.#slots[index] as number;
      const before = writer.length;
      if (!this.#value(writer, field, 2, member)) writeValueZero(writer, field, 2);
      const beforeKey = writer.length;
      writer.slice(bytes, nodes[member + nodeNameStart] as number, nodes[member + nodeNameEnd] as number);
      writer.delimit(1, beforeKey);
      writer.delimit(field.number, before);
    }
    this.#used = base;
  }

  /** {@link writeValue} of a node. */
  #value(writer: WireWriter, field: CompiledField, number: number, node: number): boolean {
    const tape = this.#tape;
    const { nodes, bytes } = tape;
    const kind = nodes[node] as number;
    const type = kind & typeMask;
    const before = writer.length;
    switch (field.type) {
      case 'string':
        if (type !== stringType) return false;
        this.#text(writer, number, node);
        return true;
      case 'json':
        this.#raw(writer, node);
        break;
      case 'bool':
        if (type !== trueType && type !== falseType) return false;
        writer.uint(type === trueType ? 1 : 0);
        writer.tag(number, field.wireType);
        return true;
      case 'int32':
      case 'int64':
        if (type !== integerType) return false;
        writer.int(Number(bytes.toString('latin1', nodes[node + nodeStart], nodes[node + nodeEnd])));
        writer.tag(number, field.wireType);
        return true;
      case 'message': {
        const message = field.message();
        const { conversion } = message;
        if (conversion === undefined) {
          if (type !== objectType) return false;
          this.#message(writer, message, node);
        } else if (conversion.isText === true && type === stringType) {
          this.#text(writer, 1, node);
        } else if (conversion.isJson === true && type !== nullType) {
          this.#raw(writer, node);
          writer.delimit(1, before);
        } else if (kind === stringType) {
          const start = nodes[node + nodeStart] as number;
          if (!this.#texts.write(writer, message, bytes, start, nodes[node + nodeEnd] as number)) return false;
        } else {
          return writeValue(writer, field, number, this.#json(node));
        }
        break;
      }
      case 'bytes':
      case 'double':
        return writeValue(writer, field, number, this.#json(node));
    }
    writer.delimit(number, before);
    return true;
  }

  /** A string field. */
  #text(writer: WireWriter, number: number, node: number): void {
    const { nodes, bytes } = this.#tape;
    const before = writer.length;
    if (((nodes[node] as number) & escapedFlag) === 0)
      writer.slice(bytes, nodes[node + nodeStart] as number, nodes[node + nodeEnd] as number);
    else writer.text(this.#json(node) as string);
    writer.delimit(number, before);
  }

  /** The JSON text of a value. */
  #raw(writer: WireWriter, node: number): void {
    const [start, end] = this.#span(node);
    writer.slice(this.#tape.bytes, start, end);
  }

  /** The parsed value. */
  #json(node: number): Json {
    const { nodes, bytes } = this.#tape;
    if (nodes[node] === stringType) return bytes.toString('utf8', nodes[node + nodeStart], nodes[node + nodeEnd]);
    const [start, end] = this.#span(node);
    return parseJson(bytes.toString('utf8', start, end));
  }

  /** Start and end of a value with its quotes. */
  #span(node: number): readonly [number, number] {
    const { nodes } = this.#tape;
    const quotes = ((nodes[node] as number) & typeMask) === stringType ? 1 : 0;
    return [(nodes[node + nodeStart] as number) - quotes, (nodes[node + nodeEnd] as number) + quotes];
  }

  /** Puts the items of a list or the members of an object onto the stack; returns their number. */
  #children(node: number): number {
    const { nodes } = this.#tape;
    const base = this.#used;
    const end = nodes[node + nodeNext] as number;
    for (let child = node + nodeSize; child < end; child = nodes[child + nodeNext] as number)
      this.#slots[this.#reserve(1)] = child;
    return this.#used - base;
  }

  /** Sorts members on the stack by name; false: they are too many, or names are equal. */
  #sort(base: number, count: number): boolean {
    const slots = this.#slots;
    for (let index = base + 1; index < base + count; index++) {
      const member = slots[index] as number;
      let at = index;
      let order = this.#compare(member, slots[at - 1] as number);
      while (order < 0) {
        if (count > fewKeys) return false;
        slots[at] = slots[--at] as number;
        order = at === base ? 1 : this.#compare(member, slots[at - 1] as number);
      }
      if (order === 0) return false;
      slots[at] = member;
    }
    return true;
  }

  /** By the bytes of their names, which are ASCII. */
  #compare(left: number, right: number): number {
    const { nodes, bytes } = this.#tape;
    let a = nodes[left + nodeNameStart] as number;
    let b = nodes[right + nodeNameStart] as number;
    const endA = nodes[left + nodeNameEnd] as number;
    const endB = nodes[right + nodeNameEnd] as number;
    while (a < endA && b < endB) {
      const difference = (bytes[a++] as number) - (bytes[b++] as number);
      if (difference !== 0) return difference;
    }
    return endA - a - (endB - b);
  }

  /** The place of so many absent nodes on the stack. */
  #reserve(count: number): number {
    const base = this.#used;
    this.#used = base + count;
    if (this.#used > this.#slots.length) {
      const grown = new Int32Array(this.#used * 2);
      grown.set(this.#slots);
      this.#slots = grown;
    }
    for (let index = base; index < this.#used; index++) this.#slots[index] = absent;
    return base;
  }
}

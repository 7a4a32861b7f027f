import { isJsonObject } from '../json/json.ts';
import { emptyHash, hashByte, isEqual } from './field-names.ts';
import { writeMessage } from './message-encoder.ts';
import type { MessageType } from './message-type.ts';
import type { WireWriter } from './wire-writer.ts';

const places = 256;
/** Longer texts and messages are not kept. */
const maxBytes = 40;

/**
 * Messages that stand for a string, such as times: the last ones are kept as bytes, one per hash of their text, because the
 * objects of a list have many times in common.
 */
export class ConvertedTexts {
  readonly #types: (MessageType | undefined)[] = Array.from({ length: places }, () => undefined);
  readonly #texts: Buffer[] = this.#types.map(() => Buffer.alloc(0));
  readonly #messages: Buffer[] = this.#types.map(() => Buffer.alloc(0));

  /** Writes the content of the message for the text from `start` to `end`. False: there is none. */
  write(writer: WireWriter, type: MessageType, bytes: Buffer, start: number, end: number): boolean {
    let hash = emptyHash;
    const isKept = end - start <= maxBytes;
    if (isKept) for (let at = start; at < end; at++) hash = hashByte(hash, bytes[at] as number);
    const place = (hash ^ (hash >>> 16)) & (places - 1);
    if (isKept && this.#types[place] === type && isEqual(this.#texts[place] as Buffer, bytes, start, end)) {
      const message = this.#messages[place] as Buffer;
      writer.slice(message, 0, message.length);
      return true;
    }
    const before = writer.length;
    const object = type.conversion?.toMessage(bytes.toString('utf8', start, end));
    if (object !== undefined && !isJsonObject(object)) return false;
    if (object !== undefined) writeMessage(writer, type, object);
    if (isKept && writer.length - before <= maxBytes) {
      this.#types[place] = type;
      this.#texts[place] = Buffer.from(bytes.subarray(start, end));
      this.#messages[place] = writer.since(before);
    }
    return true;
  }
}

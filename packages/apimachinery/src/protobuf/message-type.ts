import type { Json, JsonObject } from '../json/json.ts';
import { FieldNames } from './field-names.ts';
import { wireBytes, wireFixed64, wireVarint } from './wire-reader.ts';

/** How the bytes of a value become JSON: `bytes` are written in base64, `json` is bytes that hold a JSON text. */
export type ScalarType = 'string' | 'bytes' | 'json' | 'bool' | 'int32' | 'int64' | 'double';

export interface MessageField {
  readonly number: number;
  /** Name in JSON. */
  readonly name: string;
  /** A function for a message: messages may hold themselves. */
  readonly type: ScalarType | (() => MessageType);
  /** `inlined`: a message whose fields belong to the object itself. */
  readonly shape: 'single' | 'repeated' | 'map' | 'inlined';
  /** A zero value means the same as an absent field, and JSON would not have it. */
  readonly dropZero: boolean;
  /** An absent value is not its zero: only what is there is written. The others are written always. */
  readonly pointer?: boolean | undefined;
}

/** A field as decoder and encoder want it. */
export interface CompiledField extends Omit<MessageField, 'type' | 'pointer'> {
  readonly type: ScalarType | 'message';
  /** Wire type of one value. */
  readonly wireType: number;
  /** The most frequent of all: a single text. */
  readonly isText: boolean;
  /** Written also when the object does not have it. */
  readonly always: boolean;
  readonly message: () => MessageType;
}

/** A message that is not written as an object in JSON. */
export interface MessageConversion {
  /** The message is nothing but a text, its first field; {@link fromMessage} gives the text as it is. */
  readonly isText?: true;
  /** The message has one field, a JSON text, and JSON has that text in its place. */
  readonly isJson?: true;
  /** The JSON of a message; undefined: the field is absent. */
  fromMessage(fields: JsonObject): Json | undefined;
  /** Its inverse; `value` is undefined where a field that is always written is absent. Undefined: an empty message. */
  toMessage(value: Json | undefined): JsonObject | undefined;
}

/** A message of protocol buffers and the JSON it stands for. */
export class MessageType {
  /** Name without its package, as it stands in error texts. */
  readonly name: string;
  /** By number. Kubernetes counts its fields from one, so this is a short list. */
  readonly fields: readonly (CompiledField | undefined)[];
  /** By falling number. */
  readonly reversed: readonly CompiledField[];
  /** The names of {@link reversed}. */
  readonly names: FieldNames;
  readonly hasInlined: boolean;
  readonly conversion: MessageConversion | undefined;

  constructor(name: string, fields: readonly MessageField[], conversion?: MessageConversion) {
    this.name = name;
    const last = fields.reduce((highest, { number }) => Math.max(highest, number), 0);
    const byNumber = Array.from({ length: last + 1 }, (): CompiledField | undefined => undefined);
    for (const field of fields) byNumber[field.number] = compile(field);
    this.fields = byNumber;
    this.reversed = byNumber.filter((field) => field !== undefined).toReversed();
    this.names = new FieldNames(this.reversed.map(({ name }) => name));
    this.hasInlined = fields.some(({ shape }) => shape === 'inlined');
    this.conversion = conversion;
  }
}

function compile({ number, name, type, shape, dropZero, pointer }: MessageField): CompiledField {
  const single = shape === 'single' && pointer !== true;
  if (typeof type === 'function') {
    let made: MessageType | undefined;
    const message = (): MessageType => (made ??= type());
    const always = single || shape === 'inlined';
    return { number, name, type: 'message', shape, dropZero, wireType: wireBytes, isText: false, always, message };
  }
  const isText = type === 'string' && shape === 'single';
  // No bytes and absent bytes are two things, whatever the type says.
  const always = single && type !== 'bytes' && type !== 'json';
  return { number, name, type, shape, dropZero, wireType: wireTypeOf(type), isText, always, message: noMessage };
}

function wireTypeOf(type: ScalarType): number {
  switch (type) {
    case 'bool':
    case 'int32':
    case 'int64':
      return wireVarint;
    case 'double':
      return wireFixed64;
    case 'string':
    case 'bytes':
    case 'json':
      return wireBytes;
  }
}

function noMessage(): never {
  throw new TypeError('a scalar has no message');
}

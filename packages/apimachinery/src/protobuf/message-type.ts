import type { Json, JsonObject } from '../json.ts';
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
}

/** A field as the decoder wants it. */
export interface CompiledField extends Omit<MessageField, 'number' | 'type'> {
  readonly type: ScalarType | 'message';
  /** Wire type of one value. */
  readonly wireType: number;
  /** The most frequent of all: a single text. */
  readonly isText: boolean;
  readonly message: () => MessageType;
}

/** A message of protocol buffers and the JSON it stands for. */
export class MessageType {
  /** Name without its package, as it stands in error texts. */
  readonly name: string;
  /** By number. Kubernetes counts its fields from one, so this is a short list. */
  readonly fields: readonly (CompiledField | undefined)[];
  /** Makes the JSON of a message that is not written as an object; undefined: the field is absent. */
  readonly convert: ((fields: JsonObject) => Json | undefined) | undefined;

  constructor(name: string, fields: readonly MessageField[], convert?: (fields: JsonObject) => Json | undefined) {
    this.name = name;
    const last = fields.reduce((highest, { number }) => Math.max(highest, number), 0);
    const byNumber = Array.from({ length: last + 1 }, (): CompiledField | undefined => undefined);
    for (const field of fields) byNumber[field.number] = compile(field);
    this.fields = byNumber;
    this.convert = convert;
  }
}

function compile({ name, type, shape, dropZero }: MessageField): CompiledField {
  if (typeof type === 'function') {
    let made: MessageType | undefined;
    const message = (): MessageType => (made ??= type());
    return { name, type: 'message', shape, dropZero, wireType: wireBytes, isText: false, message };
  }
  const isText = type === 'string' && shape === 'single';
  return { name, type, shape, dropZero, wireType: wireTypeOf(type), isText, message: noMessage };
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

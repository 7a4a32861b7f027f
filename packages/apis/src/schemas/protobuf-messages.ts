import {
  encodeJson,
  formatUnixSeconds,
  MessageType,
  parseMicros,
  ProtobufError,
  type Json,
  type JsonObject,
  type MessageConversion,
  type MessageField,
  type ScalarType,
} from '@multiplane/apimachinery';
import { atomicMessages, protobufKinds, protobufMessages } from './protobuf-fields.data.ts';

/** The message of a kind as bodies carry it; undefined for a kind that Kubernetes does not have in protobuf. */
export function protobufMessageOf(apiVersion: string, kind: string): MessageType | undefined {
  const known = found.get(apiVersion)?.get(kind);
  if (known !== undefined) return known;
  const name = protobufMessageName(apiVersion, kind);
  if (name === undefined) return undefined;
  const type = messageType(name);
  const kinds = found.get(apiVersion) ?? new Map<string, MessageType>();
  found.set(apiVersion, kinds.set(kind, type));
  return type;
}

/** `v1`, `Pod` → `core.v1.Pod`. */
export function protobufMessageName(apiVersion: string, kind: string): string | undefined {
  const key = `${apiVersion}/${kind}`;
  return Object.hasOwn(protobufKinds, key) ? protobufKinds[key] : undefined;
}

/** Server-side apply owns the message as a whole. */
export const isAtomicMessage = (message: string): boolean => atomicMessages.has(message);

/** True for a message that is an object in JSON. */
export const isPlainMessage = (type: string): boolean =>
  Object.hasOwn(protobufMessages, type) && !Object.hasOwn(conversions, type);

/** One field of a message as the table has it. */
export interface FieldFacts {
  readonly number: number;
  /** `.` for a struct whose fields belong to the object itself. */
  readonly name: string;
  readonly type: string;
  readonly shape: MessageField['shape'];
  readonly pointer: boolean;
  /** JSON leaves its zero value out. */
  readonly omitted: boolean;
  readonly retainKeys: boolean;
  /** Patches merge its items: by this key, or as a set where it is empty. Undefined: they replace them. */
  readonly mergeKey: string | undefined;
  /** Server-side apply identifies items by these keys, by their values where there are none. Undefined: atomic. */
  readonly listKeys: readonly string[] | undefined;
}

/** The fields of a message by their numbers in the table; empty for one that is not there. */
export function fieldFactsOf(message: string): readonly FieldFacts[] {
  const text = Object.hasOwn(protobufMessages, message) ? (protobufMessages[message] as string) : '';
  return text === '' ? [] : text.split(', ').map(factsOf);
}

function factsOf(entry: string): FieldFacts {
  const match = /^(\d+) (\S+) (\[\]|\{\})?([\w.]+)(\*)?(\?)?(-)?(?:\+(\w*))?(?:@([\w;]*))?$/.exec(entry);
  if (match === null) throw new TypeError(`not a field: ${entry}`);
  const [, number, name, mark, type, pointer, omitted, retainKeys, mergeKey, keys] = match;
  const shape = name === '.' ? 'inlined' : mark === undefined ? 'single' : mark === '[]' ? 'repeated' : 'map';
  return {
    number: Number(number),
    name: name as string,
    type: type as string,
    shape,
    pointer: pointer !== undefined,
    omitted: omitted !== undefined,
    retainKeys: retainKeys !== undefined,
    mergeKey,
    listKeys: keys === undefined ? undefined : keys === '' ? [] : keys.split(';'),
  };
}

/** Messages by API version and kind. */
const found = new Map<string, Map<string, MessageType>>();
const types = new Map<string, MessageType>();

/** The type of a message; made when first needed. */
function messageType(name: string): MessageType {
  let type = types.get(name);
  if (type === undefined) {
    const fields = fieldFactsOf(name).map((facts): MessageField => ({
      number: facts.number,
      name: facts.name,
      type: scalars.has(facts.type) ? (facts.type as ScalarType) : () => messageType(facts.type),
      shape: facts.shape,
      dropZero: facts.omitted && !facts.pointer,
      pointer: facts.pointer,
    }));
    type = new MessageType(name.slice(name.lastIndexOf('.') + 1), fields, conversions[name]);
    types.set(name, type);
  }
  return type;
}

const scalars: ReadonlySet<string> = new Set(['string', 'bytes', 'json', 'bool', 'int32', 'int64', 'double']);

const rawJson: MessageConversion = {
  isJson: true,
  fromMessage: ({ raw }) => raw ?? null,
  toMessage: (value) => (value === undefined ? {} : { raw: value }),
};
const itemList: MessageConversion = {
  fromMessage: ({ items }) => items ?? [],
  toMessage: (value) => ({ items: value ?? [] }),
};

/** Messages that are no objects in JSON. */
const conversions: Readonly<Record<string, MessageConversion | undefined>> = {
  'apiextensions.v1.JSON': rawJson,
  'apiextensions.v1.JSONSchemaPropsOrArray': {
    fromMessage: ({ schema, jSONSchemas }) => jSONSchemas ?? schema ?? null,
    toMessage: (value = {}) => (Array.isArray(value) ? { jSONSchemas: value } : { schema: value }),
  },
  'apiextensions.v1.JSONSchemaPropsOrBool': {
    fromMessage: ({ schema, allows }) => schema ?? allows ?? false,
    toMessage: (value = false) => (typeof value === 'boolean' ? { allows: value } : { allows: true, schema: value }),
  },
  'apiextensions.v1.JSONSchemaPropsOrStringArray': {
    fromMessage: ({ schema, property }) => property ?? schema ?? null,
    toMessage: (value = []) => (Array.isArray(value) ? { property: value } : { schema: value }),
  },
  'authentication.v1.AttestationValue': itemList,
  'authentication.v1.ExtraValue': itemList,
  'authorization.v1.ExtraValue': itemList,
  'certificates.v1.ExtraValue': itemList,
  'intstr.IntOrString': {
    fromMessage: ({ type, intVal, strVal }) => (type === 1 ? (strVal ?? '') : (intVal ?? 0)),
    toMessage: (value = 0) => (typeof value === 'string' ? { type: 1, strVal: value } : { intVal: value }),
  },
  'meta.v1.FieldsV1': rawJson,
  'meta.v1.Verbs': itemList,
  'meta.v1.MicroTime': {
    fromMessage: ({ seconds, nanos }) => {
      const micros = Math.floor(Number(nanos ?? 0) / 1000);
      const carried = Math.floor(micros / 1_000_000);
      const time = timeOf(seconds, carried);
      return time && `${time.slice(0, -1)}.${String(micros - carried * 1_000_000).padStart(6, '0')}Z`;
    },
    toMessage: (value) => timestampOf(value, 1),
  },
  // What is finer than a second is never sent, and never read.
  'meta.v1.Time': {
    fromMessage: ({ seconds }) => timeOf(seconds, 0),
    toMessage: (value) => timestampOf(value, 1_000_000),
  },
  'resource.Quantity': {
    isText: true,
    fromMessage: (fields) => fields['string'] ?? '0',
    toMessage: (value = '0') => ({ string: typeof value === 'string' ? value : encodeJson(value) }),
  },
  'runtime.RawExtension': rawJson,
};

/** The first second of year 1, which stands for no time at all, and the last of year 9999. */
const zeroTime = -62_135_596_800;
const lastTime = 253_402_300_799;

/** Undefined for no time; an empty message is no time, too. */
function timeOf(seconds: Json | undefined, more: number): string | undefined {
  if (seconds === undefined || seconds === zeroTime) return undefined;
  const sum = Number(seconds) + more;
  if (sum < zeroTime || sum > lastTime) {
    throw new ProtobufError('Time.MarshalJSON: year outside of range [0,9999]');
  }
  return formatUnixSeconds(sum);
}

/** A time as seconds and nanoseconds, cut to a multiple of so many microseconds; an empty message where there is none. */
function timestampOf(value: Json | undefined, unit: number): JsonObject | undefined {
  const micros = typeof value === 'string' ? microsOf(value) : undefined;
  if (micros === undefined) return undefined;
  const seconds = Math.floor(micros / 1_000_000);
  if (seconds === zeroTime) return undefined;
  return { seconds, nanos: Math.floor((micros - seconds * 1_000_000) / unit) * unit * 1000 };
}

/** The times of an object, and of its neighbours in a list, are often the same. */
let lastTimeText = '';
let lastMicros: number | undefined;

function microsOf(text: string): number | undefined {
  if (text !== lastTimeText) {
    lastMicros = parseMicros(text);
    lastTimeText = text;
  }
  return lastMicros;
}

import {
  formatUnixSeconds,
  MessageType,
  ProtobufError,
  type Json,
  type JsonObject,
  type MessageField,
  type ScalarType,
} from '@multiplane/apimachinery';
import { componentNames } from './components.ts';
import { protobufKinds, protobufMessages } from './protobuf-fields.data.ts';
import { shapeOf, type Field } from './typed-shape.ts';

/** The message of a kind as request bodies carry it; undefined for a kind that Kubernetes does not have in protobuf. */
export function protobufMessageOf(apiVersion: string, kind: string): MessageType | undefined {
  const known = found.get(apiVersion)?.get(kind);
  if (known !== undefined) return known;
  const key = `${apiVersion}/${kind}`;
  if (!Object.hasOwn(protobufKinds, key)) return undefined;
  const type = messageType(protobufKinds[key] as string);
  const kinds = found.get(apiVersion) ?? new Map<string, MessageType>();
  found.set(apiVersion, kinds.set(kind, type));
  return type;
}

/** Messages by API version and kind. */
const found = new Map<string, Map<string, MessageType>>();
const types = new Map<string, MessageType>();

/** The type of a message; made when first needed. `owner` is the message whose object the fields end up in. */
function messageType(name: string, owner = name): MessageType {
  const key = owner === name ? name : `${owner}/${name}`;
  let type = types.get(key);
  if (type === undefined) {
    const short = name.slice(name.lastIndexOf('.') + 1);
    type = new MessageType(short, fieldsOf(name, owner), conversions[name]);
    types.set(key, type);
  }
  return type;
}

function fieldsOf(name: string, owner: string): MessageField[] {
  const text = protobufMessages[name];
  if (text === undefined) throw new TypeError(`no message ${name}`);
  if (text === '') return [];
  const facts = factsOf(owner);
  return text.split(', ').map((entry) => {
    const [number, field, marked] = entry.split(' ') as [string, string, string];
    const type = marked.replace(/^(?:\[\]|\{\})/, '');
    const shape = field === '.' ? 'inlined' : marked === type ? 'single' : marked.startsWith('[') ? 'repeated' : 'map';
    return {
      number: Number(number),
      name: field,
      type: scalars.has(type) ? (type as ScalarType) : () => messageType(type, shape === 'inlined' ? owner : type),
      shape,
      dropZero: facts?.get(field)?.dropZero ?? false,
    };
  });
}

const scalars: ReadonlySet<string> = new Set(['string', 'bytes', 'json', 'bool', 'int32', 'int64', 'double']);

/** `core.v1.Event` → `io.k8s.api.core.v1.Event`. */
let components: ReadonlyMap<string, string> | undefined;

/** What is known of the fields of a message besides its protobuf: which of them JSON leaves out when they are zero. */
function factsOf(message: string): ReadonlyMap<string, Field> | undefined {
  components ??= new Map(componentNames.map((name) => [name.split('.').slice(-3).join('.'), name]));
  const component = components.get(message);
  if (component === undefined) return undefined;
  const shape = shapeOf(component);
  return shape.type === 'struct' ? shape.fields : undefined;
}

/** Messages that are no objects in JSON. */
const conversions: Readonly<Record<string, ((fields: JsonObject) => Json | undefined) | undefined>> = {
  'apiextensions.v1.JSON': rawJsonOf,
  'apiextensions.v1.JSONSchemaPropsOrArray': ({ schema, jSONSchemas }) => jSONSchemas ?? schema ?? null,
  'apiextensions.v1.JSONSchemaPropsOrBool': ({ schema, allows }) => schema ?? allows ?? false,
  'apiextensions.v1.JSONSchemaPropsOrStringArray': ({ schema, property }) => property ?? schema ?? null,
  'authentication.v1.AttestationValue': itemsOf,
  'authentication.v1.ExtraValue': itemsOf,
  'authorization.v1.ExtraValue': itemsOf,
  'certificates.v1.ExtraValue': itemsOf,
  'meta.v1.FieldsV1': rawJsonOf,
  'meta.v1.MicroTime': ({ seconds, nanos }) => {
    const micros = Math.floor(Number(nanos ?? 0) / 1000);
    const carried = Math.floor(micros / 1_000_000);
    const time = timeOf(seconds, carried);
    return time && `${time.slice(0, -1)}.${String(micros - carried * 1_000_000).padStart(6, '0')}Z`;
  },
  // What is finer than a second is never sent, and never read.
  'meta.v1.Time': ({ seconds }) => timeOf(seconds, 0),
  'resource.Quantity': (fields) => fields['string'] ?? '0',
};

function rawJsonOf({ raw }: JsonObject): Json {
  return raw ?? null;
}

function itemsOf({ items }: JsonObject): Json {
  return items ?? [];
}

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

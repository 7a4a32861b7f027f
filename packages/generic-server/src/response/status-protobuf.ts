import {
  encodeMessage,
  MessageType,
  protobufEnvelopeHead,
  protobufEnvelopeTail,
  type JsonObject,
  type MessageField,
  type ScalarType,
  type Status,
} from '@multiplane/apimachinery';

type FieldSpec = readonly [number: number, name: string, type: ScalarType | MessageType, ...modifiers: 'pointer'[]];

// Messages of k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto. All other kinds are in the generated table of the apis
// package, which servers without resources do not load.
const listMeta = message('ListMeta', [
  [1, 'selfLink', 'string'],
  [2, 'resourceVersion', 'string'],
  [3, 'continue', 'string'],
  [4, 'remainingItemCount', 'int64', 'pointer'],
]);
const statusCause = message('StatusCause', [
  [1, 'reason', 'string'],
  [2, 'message', 'string'],
  [3, 'field', 'string'],
]);
const statusDetails = new MessageType('StatusDetails', [
  ...fields([
    [1, 'name', 'string'],
    [2, 'group', 'string'],
    [3, 'kind', 'string'],
    [6, 'uid', 'string'],
    [5, 'retryAfterSeconds', 'int32'],
  ]),
  { number: 4, name: 'causes', type: () => statusCause, shape: 'repeated', dropZero: true },
]);
const statusMessage = message('Status', [
  [1, 'metadata', listMeta],
  [2, 'status', 'string'],
  [3, 'message', 'string'],
  [4, 'reason', 'string'],
  [5, 'details', statusDetails, 'pointer'],
  [6, 'code', 'int32'],
]);

/** Encodes a Status as protobuf, in the envelope that Kubernetes puts around every object. */
export function encodeProtobufStatus(status: Status): Buffer {
  const bytes = encodeMessage(statusMessage, status as unknown as JsonObject);
  return Buffer.concat([protobufEnvelopeHead('v1', 'Status', bytes.length), bytes, protobufEnvelopeTail]);
}

function message(name: string, specs: readonly FieldSpec[]): MessageType {
  return new MessageType(name, fields(specs));
}

function fields(specs: readonly FieldSpec[]): MessageField[] {
  return specs.map(([number, name, type, modifier]) => ({
    number,
    name,
    type: type instanceof MessageType ? () => type : type,
    shape: 'single',
    dropZero: true,
    pointer: modifier === 'pointer',
  }));
}

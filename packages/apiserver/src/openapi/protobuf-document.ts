import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import {
  listOf,
  writeAny,
  writeCount,
  writeDouble,
  writeEach,
  writeExtensions,
  writeFields,
  writeFlag,
  writeNamed,
  writeSchemaOrFlag,
  writeText,
  writeTexts,
  type FieldTable,
} from './protobuf-values.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

/** Media types of the protobuf form of OpenAPI v2, which is the only one that kubectl accepts for `/openapi/v2`. */
export const openapiV2ProtobufTypes = [
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
] as const;

/** Fields of gnostic's `openapi.v2.Schema` by their JSON names: number and encoder. */
const schemaFields: FieldTable = {
  $ref: [1, writeText],
  format: [2, writeText],
  title: [3, writeText],
  description: [4, writeText],
  default: [5, writeAny],
  maximum: [7, writeDouble],
  exclusiveMaximum: [8, writeFlag],
  minimum: [9, writeDouble],
  exclusiveMinimum: [10, writeFlag],
  maxLength: [11, writeCount],
  minLength: [12, writeCount],
  pattern: [13, writeText],
  maxItems: [14, writeCount],
  minItems: [15, writeCount],
  uniqueItems: [16, writeFlag],
  maxProperties: [17, writeCount],
  minProperties: [18, writeCount],
  required: [19, writeTexts],
  enum: [20, writeEach(writeAny)],
  additionalProperties: [21, writeSchemaOrFlag(writeSchema)],
  type: [
    22,
    (writer, field, value) =>
      writer.message(field, () => writeTexts(writer, 1, Array.isArray(value) ? value : [value])),
  ],
  items: [23, (writer, field, value) => writer.message(field, () => writeSchema(writer, 1, value))],
  allOf: [24, writeEach(writeSchema)],
  properties: [25, (writer, field, value) => writer.message(field, () => writeNamed(writer, 1, value, writeSchema))],
};
const schemaExtensions = 31;

const operations: Readonly<Record<string, number>> = {
  get: 2,
  put: 3,
  post: 4,
  delete: 5,
  options: 6,
  head: 7,
  patch: 8,
};
const parameterPlaces: Readonly<Record<string, number>> = { header: 1, formData: 2, query: 3, path: 4 };

/** Encodes one of the `definitions` as a `NamedSchema`, with its tag. */
export function encodeDefinition(name: string, schema: Json): Buffer {
  const writer = new ProtobufWriter();
  writeNamed(writer, 1, { [name]: schema }, writeSchema);
  return writer.finish();
}

/** Encodes one of the `paths` as a `NamedPathItem`, with its tag. */
export function encodePath(name: string, item: Json): Buffer {
  const writer = new ProtobufWriter();
  writeNamed(writer, 2, { [name]: item }, writePathItem);
  return writer.finish();
}

/** Encodes the `Document` around encoded paths and definitions. */
export function encodeDocument(frame: JsonObject, paths: Iterable<Buffer>, definitions: Iterable<Buffer>): Buffer {
  const writer = new ProtobufWriter();
  writer.text(1, '2.0');
  const info = isJsonObject(frame['info'] ?? null) ? (frame['info'] as JsonObject) : {};
  writer.message(2, () => {
    writeText(writer, 1, info['title'] ?? '');
    writeText(writer, 2, info['version'] ?? '');
  });
  writer.bytes(8, Buffer.concat([...paths]));
  writer.bytes(9, Buffer.concat([...definitions]));
  return writer.finish();
}

function writeSchema(writer: ProtobufWriter, field: number, schema: Json): void {
  writer.message(field, () => {
    if (isJsonObject(schema)) writeFields(writer, schemaFields, schemaExtensions, schema);
  });
}

function writePathItem(writer: ProtobufWriter, field: number, item: Json): void {
  writer.message(field, () => {
    if (!isJsonObject(item)) return;
    for (const [method, number] of Object.entries(operations)) {
      const operation = item[method];
      if (operation !== undefined && isJsonObject(operation)) writeOperation(writer, number, operation);
    }
    for (const parameter of listOf(item['parameters'])) writeParameter(writer, 9, parameter);
  });
}

function writeOperation(writer: ProtobufWriter, field: number, operation: JsonObject): void {
  writer.message(field, () => {
    writeTexts(writer, 1, operation['tags']);
    writeText(writer, 3, operation['description'] ?? '');
    writeText(writer, 5, operation['operationId'] ?? '');
    writeTexts(writer, 6, operation['produces']);
    writeTexts(writer, 7, operation['consumes']);
    for (const parameter of listOf(operation['parameters'])) writeParameter(writer, 8, parameter);
    const responses = operation['responses'];
    if (responses !== undefined) writer.message(9, () => writeNamed(writer, 1, responses, writeResponse));
    writeTexts(writer, 10, operation['schemes']);
    writeExtensions(writer, 13, operation);
  });
}

function writeParameter(writer: ProtobufWriter, field: number, parameter: Json): void {
  if (!isJsonObject(parameter)) return;
  const place = parameter['in'] as string;
  const text = (number: number, key: string): void => writeText(writer, number, parameter[key] ?? '');
  writer.message(field, () =>
    writer.message(1, () => {
      if (place === 'body') {
        writer.message(1, () => {
          text(1, 'description');
          text(2, 'name');
          text(3, 'in');
          writer.boolean(4, parameter['required'] === true);
          writeSchema(writer, 5, parameter['schema'] ?? {});
        });
        return;
      }
      writer.message(2, () =>
        writer.message(parameterPlaces[place] ?? 3, () => {
          writer.boolean(1, parameter['required'] === true);
          text(2, 'in');
          text(3, 'description');
          text(4, 'name');
          // Only query and form parameters have allowEmptyValue, so the field numbers of others are one lower.
          const shift = place === 'query' || place === 'formData' ? 1 : 0;
          text(5 + shift, 'type');
          text(6 + shift, 'format');
        }),
      );
    }),
  );
}

function writeResponse(writer: ProtobufWriter, field: number, response: Json): void {
  writer.message(field, () =>
    writer.message(1, () => {
      if (!isJsonObject(response)) return;
      writeText(writer, 1, response['description'] ?? '');
      const { schema } = response;
      if (schema !== undefined) writer.message(2, () => writeSchema(writer, 1, schema));
    }),
  );
}

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

/** Media types of the protobuf form of OpenAPI v3; responses have the last one. */
export const openapiV3ProtobufTypes = [
  'application/com.github.proto-openapi.spec.v3@v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v3.v1.0+protobuf',
] as const;

/** Fields of gnostic's `openapi.v3.Schema` by their JSON names: number and encoder. */
const schemaFields: FieldTable = {
  nullable: [1, writeFlag],
  readOnly: [3, writeFlag],
  writeOnly: [4, writeFlag],
  externalDocs: [6, writeExternalDocs],
  example: [7, writeAny],
  deprecated: [8, writeFlag],
  title: [9, writeText],
  multipleOf: [10, writeDouble],
  maximum: [11, writeDouble],
  exclusiveMaximum: [12, writeFlag],
  minimum: [13, writeDouble],
  exclusiveMinimum: [14, writeFlag],
  maxLength: [15, writeCount],
  minLength: [16, writeCount],
  pattern: [17, writeText],
  maxItems: [18, writeCount],
  minItems: [19, writeCount],
  uniqueItems: [20, writeFlag],
  maxProperties: [21, writeCount],
  minProperties: [22, writeCount],
  required: [23, writeTexts],
  enum: [24, writeEach(writeAny)],
  type: [25, writeText],
  allOf: [26, writeEach(writeSchema)],
  oneOf: [27, writeEach(writeSchema)],
  anyOf: [28, writeEach(writeSchema)],
  not: [29, writePlainSchema],
  items: [30, (writer, field, value) => writer.message(field, () => writeSchema(writer, 1, value))],
  properties: [31, (writer, field, value) => writer.message(field, () => writeNamed(writer, 1, value, writeSchema))],
  additionalProperties: [32, writeSchemaOrFlag(writeSchema)],
  default: [33, writeDefault],
  description: [34, writeText],
  format: [35, writeText],
};
const schemaExtensions = 36;

const operations: Readonly<Record<string, number>> = {
  get: 4,
  put: 5,
  post: 6,
  delete: 7,
  options: 8,
  head: 9,
  patch: 10,
  trace: 11,
};

/** Encodes one of the component schemas as a `NamedSchemaOrReference`, with its tag. */
export function encodeSchemaV3(name: string, schema: Json): Buffer {
  const writer = new ProtobufWriter();
  writeNamed(writer, 1, { [name]: schema }, writeSchema);
  return writer.finish();
}

/** Encodes one of the paths as a `NamedPathItem`, with its tag. */
export function encodePathV3(name: string, item: Json): Buffer {
  const writer = new ProtobufWriter();
  writeNamed(writer, 1, { [name]: item }, writePathItem);
  return writer.finish();
}

/** Encodes the `Document` around encoded paths and schemas. */
export function encodeDocumentV3(frame: JsonObject, paths: Iterable<Buffer>, schemas: Iterable<Buffer>): Buffer {
  const writer = new ProtobufWriter();
  writeText(writer, 1, frame['openapi'] ?? '');
  const info = objectOf(frame['info']);
  writer.message(2, () => {
    writeText(writer, 1, info['title'] ?? '');
    writeText(writer, 2, info['description'] ?? '');
    writeText(writer, 6, info['version'] ?? '');
  });
  writer.bytes(4, Buffer.concat([...paths]));
  const encoded = Buffer.concat([...schemas]);
  const schemes = objectOf(objectOf(frame['components'])['securitySchemes']);
  writer.message(5, () => {
    writer.bytes(1, encoded);
    if (Object.keys(schemes).length > 0) writer.message(7, () => writeNamed(writer, 1, schemes, writeSecurityScheme));
  });
  return writer.finish();
}

/** Writes a `SchemaOrReference`; siblings of a reference are dropped. */
function writeSchema(writer: ProtobufWriter, field: number, schema: Json): void {
  writer.message(field, () => {
    if (!isJsonObject(schema)) return;
    if (Object.hasOwn(schema, '$ref')) {
      writer.message(2, () => {
        writeText(writer, 1, schema['$ref'] as Json);
        writeText(writer, 3, schema['description'] ?? '');
      });
      return;
    }
    writePlainSchema(writer, 1, schema);
  });
}

function writePlainSchema(writer: ProtobufWriter, field: number, schema: Json): void {
  writer.message(field, () => {
    if (isJsonObject(schema)) writeFields(writer, schemaFields, schemaExtensions, schema);
  });
}

/** Writes a number, boolean or string; for other values an empty message. */
function writeDefault(writer: ProtobufWriter, field: number, value: Json): void {
  writer.message(field, () => {
    // Members of a oneof are written even with default values, because their presence selects the type.
    if (typeof value === 'number' || typeof value === 'bigint') writer.presentDouble(1, Number(value));
    else if (typeof value === 'boolean') writer.presentBoolean(2, value);
    else if (typeof value === 'string') writer.element(3, value);
  });
}

function writeExternalDocs(writer: ProtobufWriter, field: number, value: Json): void {
  writer.message(field, () => {
    const docs = objectOf(value);
    writeText(writer, 1, docs['description'] ?? '');
    writeText(writer, 2, docs['url'] ?? '');
  });
}

function writePathItem(writer: ProtobufWriter, field: number, item: Json): void {
  writer.message(field, () => {
    if (!isJsonObject(item)) return;
    for (const [method, number] of Object.entries(operations)) {
      const operation = item[method];
      if (operation !== undefined && isJsonObject(operation)) writeOperation(writer, number, operation);
    }
    for (const parameter of listOf(item['parameters'])) writeParameter(writer, 13, parameter);
    writeExtensions(writer, 14, item);
  });
}

function writeOperation(writer: ProtobufWriter, field: number, operation: JsonObject): void {
  writer.message(field, () => {
    writeTexts(writer, 1, operation['tags']);
    writeText(writer, 3, operation['description'] ?? '');
    writeText(writer, 5, operation['operationId'] ?? '');
    for (const parameter of listOf(operation['parameters'])) writeParameter(writer, 6, parameter);
    const body = operation['requestBody'];
    if (body !== undefined) writer.message(7, () => writeRequestBody(writer, 1, objectOf(body)));
    const responses = operation['responses'];
    if (responses !== undefined) writer.message(8, () => writeNamed(writer, 2, responses, writeResponse));
    writer.boolean(10, operation['deprecated'] === true);
    writeExtensions(writer, 13, operation);
  });
}

function writeParameter(writer: ProtobufWriter, field: number, parameter: Json): void {
  if (!isJsonObject(parameter)) return;
  writer.message(field, () =>
    writer.message(1, () => {
      writeText(writer, 1, parameter['name'] ?? '');
      writeText(writer, 2, parameter['in'] ?? '');
      writeText(writer, 3, parameter['description'] ?? '');
      writer.boolean(4, parameter['required'] === true);
      writeSchema(writer, 10, parameter['schema'] ?? {});
    }),
  );
}

function writeRequestBody(writer: ProtobufWriter, field: number, body: JsonObject): void {
  writer.message(field, () => {
    writeText(writer, 1, body['description'] ?? '');
    writeContent(writer, 2, body['content']);
    writer.boolean(3, body['required'] === true);
  });
}

function writeResponse(writer: ProtobufWriter, field: number, response: Json): void {
  writer.message(field, () =>
    writer.message(1, () => {
      if (!isJsonObject(response)) return;
      writeText(writer, 1, response['description'] ?? '');
      writeContent(writer, 3, response['content']);
    }),
  );
}

/** Writes schemas by media type. */
function writeContent(writer: ProtobufWriter, field: number, content: Json | undefined): void {
  if (content === undefined) return;
  writer.message(field, () =>
    writeNamed(writer, 1, content, (_writer, number, media) =>
      writer.message(number, () => {
        if (isJsonObject(media) && media['schema'] !== undefined) writeSchema(writer, 1, media['schema']);
      }),
    ),
  );
}

function writeSecurityScheme(writer: ProtobufWriter, field: number, scheme: Json): void {
  writer.message(field, () =>
    writer.message(1, () => {
      const { type = '', description = '', name = '', in: place = '' } = objectOf(scheme);
      writeText(writer, 1, type);
      writeText(writer, 2, description);
      writeText(writer, 3, name);
      writeText(writer, 4, place);
    }),
  );
}

const nothing: JsonObject = {};
const objectOf = (value: Json | undefined): JsonObject =>
  value !== undefined && isJsonObject(value) ? value : nothing;

import {
  decodeDeleteOptions,
  decodeDeleteQuery,
  type DeleteOptions,
  isJsonObject,
  type JsonObject,
  type JsonTextDetails,
  type ParsedYaml,
  bodyLimits,
  parseJsonIncrementally,
  ProtobufError,
  readProtobufEnvelope,
  statusErrors,
} from '@multiplane/apimachinery';
import { BuiltInSchema, decodeProtobufIncrementally } from '@multiplane/apis';
import type { RequestContext } from '@multiplane/generic-server';
import type { BodyDecoder } from './body-decoder.ts';
import { notAnObject } from './decoding-errors.ts';
import { readKind } from './read-kind.ts';
import { bodyFormat, maxBodyBytes } from './request-body.ts';

const deleteOptionsSchema = new BuiltInSchema({ component: 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions' });

/** DeleteOptions from the body if there is one, else from the query. Throws StatusError 400, 413, 415 or 422. */
export async function readDeleteOptions(
  decoder: Pick<BodyDecoder, 'readYaml'>,
  context: RequestContext,
): Promise<DeleteOptions> {
  const { exchange, work } = context;
  const body = await exchange.readBody(maxBodyBytes);
  if (body.length === 0) return decodeDeleteQuery(context.info.query);
  const format = bodyFormat(context);
  work.grow(body.length);
  if (format === 'protobuf') return decodeDeleteOptions(await work.run(protobufDeleteOptions(body)));
  const details: JsonTextDetails = { literals: new Map(), repeats: new Map() };
  const document =
    format === 'yaml'
      ? await decoder.readYaml(body, context)
      : () => parseJsonIncrementally(body, true, { details, limits: bodyLimits });
  let value;
  try {
    ({ value } = await work.run<ParsedYaml>(document()));
  } catch (error) {
    if (context.signal.aborted) throw error;
    throw statusErrors.badRequest(`couldn't get version/kind; json parse error: ${(error as Error).message}`, error);
  }
  if (value !== null && !isJsonObject(value)) throw statusErrors.badRequest(notAnObject(value));
  await work.pause();
  return decodeParsed(value ?? {}, details);
}

function decodeParsed(object: JsonObject, details: JsonTextDetails): DeleteOptions {
  const { kind, apiVersion, failure } = readKind(object, details);
  if (failure !== undefined) throw statusErrors.badRequest(failure);
  // A wrong kind is refused before anything else is read.
  if (kind !== '' && kind !== 'DeleteOptions') return decodeDeleteOptions({ kind, apiVersion });
  Object.assign(object, { kind: 'DeleteOptions' });
  deleteOptionsSchema.decodeTyped(object, details);
  return decodeDeleteOptions(object);
}

/** The DeleteOptions of all groups have the same message. */
function* protobufDeleteOptions(body: Buffer): Generator<void, JsonObject> {
  try {
    const { apiVersion, kind, message } = readProtobufEnvelope(body);
    const object = yield* decodeProtobufIncrementally('meta.k8s.io/v1', 'DeleteOptions', message);
    if (apiVersion !== '') object['apiVersion'] = apiVersion;
    if (kind !== '') object['kind'] = kind;
    return object;
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    throw statusErrors.badRequest(error.message, error);
  }
}

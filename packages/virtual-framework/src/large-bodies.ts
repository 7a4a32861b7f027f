import {
  encodeJson,
  encodeJsonIncrementally,
  bodyLimits,
  parseJson,
  parseJsonIncrementally,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import { inlineYamlReader, type BodyDecoder, type ResourceRequest } from '@multiplane/apiserver';
import { runInTimeSlices } from '@multiplane/component-base';

type Context = Pick<ResourceRequest, 'context'>['context'];
type YamlBodies = Pick<BodyDecoder, 'readYaml'>;

/** Longer bodies are parsed and encoded in time slices: those of all tenants are, on this thread. */
const largeBytes = 64 * 1024;

/** Runs passes for a request. */
export const inTimeSlices = <T>(steps: Generator<void, T>, { info, signal }: Context): Promise<T> =>
  runInTimeSlices(steps, info.cluster, () => signal);

/** Parses JSON. Throws JsonSyntaxError, also for an object that is wider than the shard accepts. */
export async function parseJsonBody(body: Buffer, context: Context): Promise<Json> {
  if (body.length < largeBytes) return parseJson(body);
  const steps = parseJsonIncrementally(body, false, { limits: bodyLimits });
  return (await inTimeSlices(steps, context)).value;
}

/** Parses YAML, or JSON sent as YAML. `decoder` parses long YAML in a worker thread; absent: here. */
export async function parseYamlBody(body: Buffer, context: Context, decoder: YamlBodies | undefined): Promise<Json> {
  const document = decoder === undefined ? inlineYamlReader.read(body) : decoder.readYaml(body, context);
  return (await inTimeSlices((await document)(), context)).value;
}

/** Encodes an object; `bytes`: about its length. */
export async function encodeJsonBody(object: JsonObject, bytes: number, context: Context): Promise<string> {
  return bytes < largeBytes ? encodeJson(object) : inTimeSlices(encodeJsonIncrementally(object), context);
}

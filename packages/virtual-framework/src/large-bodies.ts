import {
  encodeJson,
  encodeJsonIncrementally,
  maxJsonMembers,
  parseJson,
  parseJsonIncrementally,
  parseYaml,
  statusErrors,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import type { ResourceRequest } from '@multiplane/apiserver';
import { runInTimeSlices } from '@multiplane/component-base';

type Context = Pick<ResourceRequest, 'context'>['context'];

/** Longer bodies are parsed and encoded in time slices: those of all tenants are, on this thread. */
const largeBytes = 64 * 1024;
/** YAML is parsed in one step. */
const maxYamlBytes = 128 * 1024;
const openingBrace = 0x7b;

/** Runs passes for a request. */
export const inTimeSlices = <T>(steps: Generator<void, T>, { info, signal }: Context): Promise<T> =>
  runInTimeSlices(steps, info.cluster, () => signal);

/** Parses JSON. Throws JsonSyntaxError, also for an object that is wider than the shard accepts. */
export async function parseJsonBody(body: Buffer, context: Context): Promise<Json> {
  if (body.length < largeBytes) return parseJson(body);
  const steps = parseJsonIncrementally(body, false, { maxMembers: maxJsonMembers });
  return (await inTimeSlices(steps, context)).value;
}

/** Parses JSON or YAML. Throws 413 for YAML that is too long for the event loop. */
export async function parseYamlBody(body: Buffer, context: Context): Promise<Json> {
  if (body.length < largeBytes) return parseYaml(body);
  if (body[0] === openingBrace) {
    try {
      return await parseJsonBody(body, context);
    } catch (error) {
      context.signal.throwIfAborted();
      if (body.length <= maxYamlBytes) return parseYaml(body);
      throw error;
    }
  }
  if (body.length > maxYamlBytes) throw statusErrors.tooLarge(`limit is ${maxYamlBytes}`);
  return parseYaml(body);
}

/** Encodes an object; `bytes`: about its length. */
export async function encodeJsonBody(object: JsonObject, bytes: number, context: Context): Promise<string> {
  return bytes < largeBytes ? encodeJson(object) : inTimeSlices(encodeJsonIncrementally(object), context);
}

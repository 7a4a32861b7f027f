import {
  encodeJsonIncrementally,
  bodyLimits,
  parseJsonIncrementally,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import { inlineYamlReader, type BodyDecoder, type ResourceRequest } from '@multiplane/apiserver';

type Context = Pick<ResourceRequest, 'context'>['context'];
type YamlBodies = Pick<BodyDecoder, 'readYaml'>;

/** Parses JSON. Throws JsonSyntaxError, also for an object that is wider than the shard accepts. */
export async function parseJsonBody(body: Buffer, { work }: Context): Promise<Json> {
  work.grow(body.length);
  return (await work.run(parseJsonIncrementally(body, false, { limits: bodyLimits }))).value;
}

/** Parses YAML, or JSON sent as YAML. `decoder` parses long YAML in a worker thread; absent: here. */
export async function parseYamlBody(body: Buffer, context: Context, decoder: YamlBodies | undefined): Promise<Json> {
  const { work } = context;
  work.grow(body.length);
  const document = decoder === undefined ? inlineYamlReader.read(body) : decoder.readYaml(body, context);
  return (await work.run((await document)())).value;
}

/** Encodes an object; `bytes`: about its length. */
export function encodeJsonBody(object: JsonObject, bytes: number, { work }: Context): Promise<string> {
  work.grow(bytes);
  return work.run(encodeJsonIncrementally(object));
}

import {
  applyJsonPatch,
  applyMergePatch,
  checkExtent,
  errorText,
  isJsonObject,
  isStatusError,
  statusErrors,
  type Json,
  type JsonObject,
  type StatusError,
} from '@multiplane/apimachinery';
import type { RequestWork } from '@multiplane/component-base';
import { statusErrorOfResponse } from '@multiplane/client';
import type { BodyDecoder, ResourceRequest } from '@multiplane/apiserver';
import { encodeJsonBody, parseJsonBody, parseYamlBody } from './request-bodies.ts';
import type { BufferedRequest, BufferedResponse } from '@multiplane/generic-server';

/**
 * Validates an update by the object that would be stored: throws a StatusError to deny it, or returns the object to
 * store instead.
 */
export type UpdateRule = (change: {
  readonly old: JsonObject;
  readonly updated: JsonObject;
  readonly subresource: string;
}) => JsonObject | void;

interface ForwardWriteModules {
  /** Parses apply configurations; absent: they are parsed here. */
  readonly decoder: BodyDecoder | undefined;
  /** Fetches the object; throws NotFound unless it exists and is visible, or what its request, with this body, is refused for. */
  fetchVisible(sent: Buffer): Promise<JsonObject>;
  /** Sends a write of the requested resource to the shard. */
  send(buffered: BufferedRequest, query: URLSearchParams): Promise<BufferedResponse>;
  readonly updateRule: UpdateRule;
  /** What comes before an error of the shard about the object. */
  readonly earlyUpdateRule?: UpdateRule | undefined;
  /** Adds required fields to an apply configuration before it is used; throws to deny the request. */
  mutateConfiguration?(config: JsonObject): JsonObject;
  /** Authorizes an apply that creates its object; throws to deny it. Absent: an apply never creates. */
  authorizeCreate?(): Promise<void>;
}

const maxBodyBytes = 3 * 1024 * 1024;
/** After this many conflicts the client gets a conflict error. */
const maxAttempts = 5;
const applyType = 'application/apply-patch+yaml';

/**
 * A PUT or PATCH under a rule:
 *
 * 1. Fetch the object; it must be visible.
 * 2. Send the client's write with `dryRun`: the response is the object that would be stored. An error of the shard is
 *    the client's response, unless the early rule refuses what the client wrote.
 * 3. Apply the rule to both objects. The rule sees objects only, so no patch type bypasses it.
 * 4. Write the result with the resource version of step 1 as a precondition. On a conflict a PATCH starts over, and a
 *    PUT returns the conflict. A server-side apply sends the configuration again, with that resource version, so that field
 *    ownership is computed from it. An apply to a missing object creates it if the virtual workspace allows that.
 */
export async function forwardWrite(request: ResourceRequest, modules: ForwardWriteModules): Promise<void> {
  const { context } = request;
  const { exchange, info } = context;
  const sent = contentTypeOf(exchange.headers['content-type']);
  const isApply = isApplyRequest(request);
  const client = { 'user-agent': firstValue(exchange.headers['user-agent']) };
  const received = await exchange.readBody(maxBodyBytes);
  let body: Buffer | string = received;
  let config: JsonObject | undefined;
  if (isApply) {
    config = await parseConfiguration(received, context, modules.decoder);
    if (modules.mutateConfiguration !== undefined) config = modules.mutateConfiguration(config);
    body = await encodeJsonBody(config, received.length, context);
  }
  const dryQuery = new URLSearchParams(info.query);
  dryQuery.set('dryRun', 'All');
  for (let attempt = 1; ; attempt++) {
    let old: JsonObject;
    try {
      old = await modules.fetchVisible(received);
    } catch (error) {
      if (!isApply || modules.authorizeCreate === undefined || !isStatusError(error, 'NotFound')) throw error;
      await modules.authorizeCreate();
      const created = await modules.send(
        {
          method: 'PATCH',
          headers: { ...client, accept: firstValue(exchange.headers['accept']), 'content-type': sent },
          body,
        },
        info.query,
      );
      respondWith(request, created);
      return;
    }
    const dryRunResult = await modules.send(
      { method: exchange.method, headers: { ...client, accept: 'application/json', 'content-type': sent }, body },
      dryQuery,
    );
    if (dryRunResult.status < 200 || dryRunResult.status > 299) {
      if (dryRunResult.status === 422) await refuseEarly(request, modules, { old, received, type: sent });
      throw errorOf(dryRunResult);
    }
    const updated = await parseJsonBody(dryRunResult.body, context);
    if (!isJsonObject(updated)) throw new Error('the response of the shard to a write is not a JSON object');
    if (resourceVersionOf(updated) !== resourceVersionOf(old)) {
      if (attempt < maxAttempts) continue;
      throw conflict(request);
    }
    const stored = modules.updateRule({ old, updated, subresource: request.subresource }) ?? updated;
    const response = info.query.has('dryRun')
      ? stored === updated
        ? dryRunResult
        : { ...dryRunResult, body: Buffer.from(await encodeJsonBody(stored, dryRunResult.body.length, context)) }
      : await modules.send(
          {
            method: isApply ? 'PATCH' : 'PUT',
            headers: {
              ...client,
              accept: firstValue(exchange.headers['accept']),
              'content-type': isApply ? applyType : 'application/json',
            },
            body:
              config !== undefined
                ? await encodeJsonBody(withResourceVersion(config, old), received.length, context)
                : stored === updated
                  ? dryRunResult.body
                  : await encodeJsonBody(stored, dryRunResult.body.length, context),
          },
          isApply ? info.query : updateQuery(info.query),
        );
    const conflicted = response.status === 409 && isStatusError(errorOf(response), 'Conflict');
    if (conflicted && info.verb === 'patch' && attempt < maxAttempts) continue;
    respondWith(request, response);
    return;
  }
}

/** What the client wrote, by the media type of a body that is JSON. */
const writtenObject: Readonly<
  Record<string, (old: JsonObject, body: Json, work: RequestWork) => Json | Promise<Json>>
> = {
  'application/json': (_old, body) => body,
  'application/json-patch+json': (old, body, work) => work.run(applyJsonPatch(old, body)),
  'application/merge-patch+json': async (old, body, work) => {
    const result = applyMergePatch(old, body);
    await work.pause();
    checkExtent(result);
    return result;
  },
};

/** The early rule sees what the client wrote, as no shard has accepted it. The result of an apply is not known here. */
async function refuseEarly(
  { context, subresource }: ResourceRequest,
  { earlyUpdateRule }: ForwardWriteModules,
  { old, received, type }: { readonly old: JsonObject; readonly received: Buffer; readonly type: string },
): Promise<void> {
  if (earlyUpdateRule === undefined) return;
  const mediaType = type.split(';')[0]?.trim();
  const change = writtenObject[mediaType ?? ''];
  if (change === undefined) return;
  const body = await parseJsonBody(received, context);
  await context.work.pause();
  const updated = await change(old, body, context.work);
  if (isJsonObject(updated)) earlyUpdateRule({ old, updated, subresource });
}

/** Whether the request is a server-side apply. */
export const isApplyRequest = ({ context: { info, exchange } }: ResourceRequest): boolean =>
  info.verb === 'patch' && contentTypeOf(exchange.headers['content-type']).startsWith(applyType);

async function parseConfiguration(
  body: Buffer,
  context: ResourceRequest['context'],
  decoder: BodyDecoder | undefined,
): Promise<JsonObject> {
  let config: unknown;
  try {
    config = await parseYamlBody(body, context, decoder);
  } catch (error) {
    if (isStatusError(error) || context.signal.aborted) throw error;
    throw statusErrors.badRequest(`error decoding YAML: ${errorText(error)}`, error);
  }
  if (!isJsonObject(config)) throw statusErrors.badRequest('the apply configuration is not a JSON object');
  return config;
}

/** The apply configuration with the resource version of `old` as a precondition. */
function withResourceVersion(config: JsonObject, old: JsonObject): JsonObject {
  const metadata = isJsonObject(config['metadata']) ? config['metadata'] : {};
  return { ...config, metadata: { ...metadata, resourceVersion: resourceVersionOf(old) } };
}

/** The query parameters of a PATCH that a PUT accepts. */
function updateQuery(query: URLSearchParams): URLSearchParams {
  const kept = new URLSearchParams();
  for (const name of ['fieldManager', 'fieldValidation', 'pretty']) {
    const value = query.get(name);
    if (value !== null) kept.set(name, value);
  }
  return kept;
}

function respondWith({ context }: ResourceRequest, { status, headers, body }: BufferedResponse): void {
  for (const name of ['content-type', 'warning']) {
    const value = headers.get(name);
    if (value !== undefined) context.exchange.setHeader(name, value);
  }
  context.exchange.respond(status, body);
}

const resourceVersionOf = (object: JsonObject): string =>
  (object['metadata'] as { resourceVersion?: string }).resourceVersion ?? '';
const errorOf = ({ status, body }: BufferedResponse): StatusError => statusErrorOfResponse(status, body.toString());
const conflict = ({ definition, name }: ResourceRequest): StatusError =>
  statusErrors.conflict(
    definition,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
const firstValue = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : value?.[0];
const contentTypeOf = (value: string | readonly string[] | undefined): string =>
  firstValue(value) ?? 'application/json';

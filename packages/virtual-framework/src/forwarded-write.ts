import {
  applyJsonPatch,
  applyMergePatch,
  encodeJson,
  errorText,
  isJsonObject,
  isStatusError,
  parseJson,
  parseYaml,
  statusErrors,
  type Json,
  type JsonObject,
  type StatusError,
} from '@multiplane/apimachinery';
import { statusErrorOfResponse } from '@multiplane/client';
import type { ResourceRequest } from '@multiplane/apiserver';
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
/** A YAML configuration is parsed on the event loop, so its size is limited. */
const maxApplyBytes = 128 * 1024;
const openingBrace = 0x7b;
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
    // JSON, which most clients send, parses fast enough without this limit.
    if (body.length > maxApplyBytes && body[0] !== openingBrace)
      throw statusErrors.tooLarge(`limit is ${maxApplyBytes}`);
    config = parseConfiguration(body);
    if (modules.mutateConfiguration !== undefined) config = modules.mutateConfiguration(config);
    body = encodeJson(config);
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
      if (dryRunResult.status === 422) refuseEarly(request, modules, { old, received, type: sent });
      throw errorOf(dryRunResult);
    }
    const updated = parseJson(dryRunResult.body.toString());
    if (!isJsonObject(updated)) throw new Error('the response of the shard to a write is not a JSON object');
    if (resourceVersionOf(updated) !== resourceVersionOf(old)) {
      if (attempt < maxAttempts) continue;
      throw conflict(request);
    }
    const stored = modules.updateRule({ old, updated, subresource: request.subresource }) ?? updated;
    const response = info.query.has('dryRun')
      ? stored === updated
        ? dryRunResult
        : { ...dryRunResult, body: Buffer.from(encodeJson(stored)) }
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
                ? withResourceVersion(config, old)
                : stored === updated
                  ? dryRunResult.body
                  : encodeJson(stored),
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
const writtenObject: Readonly<Record<string, (old: JsonObject, body: Json) => Json>> = {
  'application/json': (_old, body) => body,
  'application/json-patch+json': (old, body) => applyJsonPatch(old, body),
  'application/merge-patch+json': (old, body) => applyMergePatch(old, body),
};

/** The early rule sees what the client wrote, as no shard has accepted it. The result of an apply is not known here. */
function refuseEarly(
  { subresource }: ResourceRequest,
  { earlyUpdateRule }: ForwardWriteModules,
  { old, received, type }: { readonly old: JsonObject; readonly received: Buffer; readonly type: string },
): void {
  if (earlyUpdateRule === undefined) return;
  const mediaType = type.split(';')[0]?.trim();
  const change = writtenObject[mediaType ?? ''];
  if (change === undefined) return;
  const updated = change(old, parseJson(received.toString()));
  if (isJsonObject(updated)) earlyUpdateRule({ old, updated, subresource });
}

/** Whether the request is a server-side apply. */
export const isApplyRequest = ({ context: { info, exchange } }: ResourceRequest): boolean =>
  info.verb === 'patch' && contentTypeOf(exchange.headers['content-type']).startsWith(applyType);

function parseConfiguration(body: Buffer): JsonObject {
  let config: unknown;
  try {
    config = parseYaml(body.toString());
  } catch (error) {
    throw statusErrors.badRequest(`error decoding YAML: ${errorText(error)}`, error);
  }
  if (!isJsonObject(config)) throw statusErrors.badRequest('the apply configuration is not a JSON object');
  return config;
}

/** The apply configuration with the resource version of `old` as a precondition. */
function withResourceVersion(config: JsonObject, old: JsonObject): string {
  const metadata = isJsonObject(config['metadata']) ? config['metadata'] : {};
  return encodeJson({ ...config, metadata: { ...metadata, resourceVersion: resourceVersionOf(old) } });
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

import {
  encodeJson,
  errorText,
  isJsonObject,
  isStatusError,
  parseJson,
  parseYaml,
  statusErrors,
  type JsonObject,
  type StatusError,
} from '@multiplane/apimachinery';
import { failureOf } from '@multiplane/client';
import type { ResourceRequest } from '@multiplane/apiserver';
import type { BufferedAnswer, BufferedRequest } from './buffered-exchange.ts';

/** Judges an update by what would be stored: throws a StatusError to refuse, or says what must be stored instead. */
export type UpdateRule = (change: {
  readonly old: JsonObject;
  readonly updated: JsonObject;
  readonly subresource: string;
}) => JsonObject | void;

interface WriteThroughModules {
  /** The object as it is, if it is in the view; throws NotFound otherwise. */
  current(): Promise<JsonObject>;
  /** Sends a write of the request's resource to the shard. */
  send(what: BufferedRequest, query: URLSearchParams): Promise<BufferedAnswer>;
  readonly mayUpdate: UpdateRule;
  /** Completes a configuration to apply before anything is done with it; throws to refuse. */
  completeConfig?(config: JsonObject): JsonObject;
  /** Called when a configuration is applied to nothing, which creates it; throws to refuse. Absent: nothing is created. */
  mayCreate?(): Promise<void>;
}

const maxBodyBytes = 3 * 1024 * 1024;
/** Somebody else was faster every time. */
const maxAttempts = 5;
/** A configuration to apply is read here, on the event loop; what a rule is for is small. */
const maxApplyBytes = 128 * 1024;
const openingBrace = 0x7b;
const applyType = 'application/apply-patch+yaml';

/**
 * A PUT or PATCH through a rule (C8.1):
 *
 * 1. The object is read; it must be in the view.
 * 2. The client's write is tried with `dryRun`: what comes back is what would be stored. Refusals of the shard are the
 *    client's answer.
 * 3. The rule compares both. It is told nothing but objects, so no kind of patch can slip past it.
 * 4. The result is written, at the version of step 1. If somebody wrote in between, a PATCH starts over; a PUT is told of
 *    the conflict, as it would have been without us. An apply keeps its meaning for field ownership: the configuration
 *    itself is sent again, tied to the version. What is applied to nothing creates it, where the view allows that.
 */
export async function writeThrough(request: ResourceRequest, modules: WriteThroughModules): Promise<void> {
  const { context } = request;
  const { exchange, info } = context;
  const sent = contentTypeOf(exchange.headers['content-type']);
  const isApply = isApplied(request);
  const client = { 'user-agent': textOf(exchange.headers['user-agent']) };
  let body: Buffer | string = await exchange.readBody(maxBodyBytes);
  let config: JsonObject | undefined;
  if (isApply) {
    // YAML takes its time to read; JSON, which most clients send, does not.
    if (body.length > maxApplyBytes && body[0] !== openingBrace)
      throw statusErrors.tooLarge(`limit is ${maxApplyBytes}`);
    config = configOf(body);
    if (modules.completeConfig !== undefined) config = modules.completeConfig(config);
    body = encodeJson(config);
  }
  const dryQuery = new URLSearchParams(info.query);
  dryQuery.set('dryRun', 'All');
  for (let attempt = 1; ; attempt++) {
    let old: JsonObject;
    try {
      old = await modules.current();
    } catch (error) {
      if (!isApply || modules.mayCreate === undefined || !isStatusError(error, 'NotFound')) throw error;
      await modules.mayCreate();
      const created = await modules.send(
        {
          method: 'PATCH',
          headers: { ...client, accept: textOf(exchange.headers['accept']), 'content-type': sent },
          body,
        },
        info.query,
      );
      relay(request, created);
      return;
    }
    const tried = await modules.send(
      { method: exchange.method, headers: { ...client, accept: 'application/json', 'content-type': sent }, body },
      dryQuery,
    );
    if (tried.status < 200 || tried.status > 299) throw refusalOf(tried);
    const updated = parseJson(tried.body.toString());
    if (!isJsonObject(updated)) throw new Error('the shard answered a write with something that is no object');
    if (versionOf(updated) !== versionOf(old)) {
      if (attempt < maxAttempts) continue;
      throw conflict(request);
    }
    const stored = modules.mayUpdate({ old, updated, subresource: request.subresource }) ?? updated;
    const answer = info.query.has('dryRun')
      ? stored === updated
        ? tried
        : { ...tried, body: Buffer.from(encodeJson(stored)) }
      : await modules.send(
          {
            method: isApply ? 'PATCH' : 'PUT',
            headers: {
              ...client,
              accept: textOf(exchange.headers['accept']),
              'content-type': isApply ? applyType : 'application/json',
            },
            body: config !== undefined ? tied(config, old) : stored === updated ? tried.body : encodeJson(stored),
          },
          isApply ? info.query : updateQuery(info.query),
        );
    const lost = answer.status === 409 && isStatusError(refusalOf(answer), 'Conflict');
    if (lost && info.verb === 'patch' && attempt < maxAttempts) continue;
    relay(request, answer);
    return;
  }
}

/** True for a server-side apply. */
export const isApplied = ({ context: { info, exchange } }: ResourceRequest): boolean =>
  info.verb === 'patch' && contentTypeOf(exchange.headers['content-type']).startsWith(applyType);

function configOf(body: Buffer): JsonObject {
  let config: unknown;
  try {
    config = parseYaml(body.toString());
  } catch (error) {
    throw statusErrors.badRequest(`error decoding YAML: ${errorText(error)}`, error);
  }
  if (!isJsonObject(config)) throw statusErrors.badRequest('the configuration to apply is no object');
  return config;
}

/** The configuration of an apply, to be applied to no other version than this. */
function tied(config: JsonObject, old: JsonObject): string {
  const metadata = isJsonObject(config['metadata']) ? config['metadata'] : {};
  return encodeJson({ ...config, metadata: { ...metadata, resourceVersion: versionOf(old) } });
}

/** Parameters of a PATCH that a PUT knows too. */
function updateQuery(query: URLSearchParams): URLSearchParams {
  const kept = new URLSearchParams();
  for (const name of ['fieldManager', 'fieldValidation', 'pretty']) {
    const value = query.get(name);
    if (value !== null) kept.set(name, value);
  }
  return kept;
}

function relay({ context }: ResourceRequest, { status, headers, body }: BufferedAnswer): void {
  for (const name of ['content-type', 'warning']) {
    const value = headers.get(name);
    if (value !== undefined) context.exchange.setHeader(name, value);
  }
  context.exchange.respond(status, body);
}

const versionOf = (object: JsonObject): string =>
  (object['metadata'] as { resourceVersion?: string }).resourceVersion ?? '';
const refusalOf = ({ status, body }: BufferedAnswer): StatusError => failureOf(status, body.toString());
const conflict = ({ definition, name }: ResourceRequest): StatusError =>
  statusErrors.conflict(
    definition,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
const textOf = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : value?.[0];
const contentTypeOf = (value: string | readonly string[] | undefined): string => textOf(value) ?? 'application/json';

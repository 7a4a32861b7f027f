import {
  encodeJson,
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

/** Judges an update by what would be stored. Throws a StatusError to refuse. */
export type UpdateRule = (change: {
  readonly old: JsonObject;
  readonly updated: JsonObject;
  readonly subresource: string;
}) => void;

interface WriteThroughModules {
  /** The object as it is, if it is in the view; throws NotFound otherwise. */
  current(): Promise<JsonObject>;
  /** Sends a write of the request's resource to the shard. */
  send(what: BufferedRequest, query: URLSearchParams): Promise<BufferedAnswer>;
  readonly mayUpdate: UpdateRule;
}

const maxBodyBytes = 3 * 1024 * 1024;
/** Somebody else was faster every time. */
const maxAttempts = 5;
/** A configuration to apply is read here, on the event loop; what a rule is for is small. */
const maxApplyBytes = 128 * 1024;
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
 *    itself is sent again, tied to the version.
 */
export async function writeThrough(request: ResourceRequest, modules: WriteThroughModules): Promise<void> {
  const { context } = request;
  const { exchange, info } = context;
  const body = await exchange.readBody(maxBodyBytes);
  const sent = contentTypeOf(exchange.headers['content-type']);
  const isApply = info.verb === 'patch' && sent.startsWith(applyType);
  if (isApply && body.length > maxApplyBytes) throw statusErrors.tooLarge(`limit is ${maxApplyBytes}`);
  const client = { 'user-agent': textOf(exchange.headers['user-agent']) };
  const dryQuery = new URLSearchParams(info.query);
  dryQuery.set('dryRun', 'All');
  for (let attempt = 1; ; attempt++) {
    const old = await modules.current();
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
    modules.mayUpdate({ old, updated, subresource: request.subresource });
    const answer = info.query.has('dryRun')
      ? tried
      : await modules.send(
          {
            method: isApply ? 'PATCH' : 'PUT',
            headers: {
              ...client,
              accept: textOf(exchange.headers['accept']),
              'content-type': isApply ? applyType : 'application/json',
            },
            body: isApply ? tied(body, old) : tried.body,
          },
          isApply ? info.query : updateQuery(info.query),
        );
    const lost = answer.status === 409 && isStatusError(refusalOf(answer), 'Conflict');
    if (lost && info.verb === 'patch' && attempt < maxAttempts) continue;
    relay(request, answer);
    return;
  }
}

/** The configuration of an apply, to be applied to no other version than this. */
function tied(body: Buffer, old: JsonObject): string {
  const config = parseYaml(body.toString());
  if (!isJsonObject(config)) throw statusErrors.badRequest('the configuration to apply is no object');
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

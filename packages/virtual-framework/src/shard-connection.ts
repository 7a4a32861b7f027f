import { isJsonObject, parseJson, type Json, type JsonObject, type UserInfo } from '@multiplane/apimachinery';
import type { ResourceRequest } from '@multiplane/apiserver';
import { statusErrorOfResponse } from '@multiplane/client';
import {
  BufferedExchange,
  type BufferedRequest,
  type BufferedResponse,
  type Exchange,
} from '@multiplane/generic-server';
import { parseJsonBody } from './request-bodies.ts';

/** The upstream URL of a request, and the user that it is sent as. */
export interface UpstreamRequest {
  /** Path and query at the shard, including `/clusters/<x>`. */
  readonly url: string;
  /** Absent: this server's own identity, which is a member of system:masters. */
  readonly user?: UserInfo | undefined;
  /** True for requests that last until the client ends them (watches, upgrades). */
  readonly longRunning?: boolean | undefined;
}

/**
 * The connection of virtual workspaces to their shard: in process, or over mTLS with impersonation. Request and
 * response bytes are streamed unchanged; the client's credentials are not forwarded.
 */
export interface ShardConnection {
  /** Forwards a client's request; the shard's response is streamed to the client. */
  forward(exchange: Exchange, upstream: UpstreamRequest): Promise<void>;
}

/** Sends another request on behalf of `parent` and returns the response, whatever its status. */
export async function sendRequest(
  connection: ShardConnection,
  parent: Exchange,
  upstream: UpstreamRequest,
  request: BufferedRequest,
): Promise<BufferedResponse> {
  const exchange = new BufferedExchange(parent, upstream.url, request);
  await connection.forward(exchange, upstream);
  return exchange.response();
}

/** The JSON object of a successful response. Throws the StatusError of any other response. */
export function responseObject(response: BufferedResponse): JsonObject {
  return objectOf(parseJson(bodyOf(response)));
}

/** {@link responseObject} of an object that a client wrote: a large one is parsed in time slices. */
export async function writtenObjectOf(
  response: BufferedResponse,
  context: ResourceRequest['context'],
): Promise<JsonObject> {
  return objectOf(await parseJsonBody(bodyOf(response), context));
}

function bodyOf({ status, body }: BufferedResponse): Buffer {
  if (status < 200 || status > 299) throw statusErrorOfResponse(status, body.toString());
  return body;
}

function objectOf(value: Json): JsonObject {
  if (!isJsonObject(value)) throw new Error('the response of the shard is not a JSON object');
  return value;
}

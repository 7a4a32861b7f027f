import { isJsonObject, parseJson, type JsonObject, type UserInfo } from '@multiplane/apimachinery';
import type { Exchange } from '@multiplane/apiserver';
import { failureOf } from '@multiplane/client';
import { BufferedExchange, type BufferedAnswer, type BufferedRequest } from './buffered-exchange.ts';

/** Where a request goes on, and in whose name. */
export interface Onward {
  /** Path and query at the shard, `/clusters/<x>` included. */
  readonly url: string;
  /** Absent: in the name of this server, which may do everything. */
  readonly user?: UserInfo | undefined;
  /** It lasts as long as the client wants (a watch). */
  readonly longRunning?: boolean | undefined;
}

/**
 * The way from virtual workspaces to the shard they belong to: in process, or over mTLS with impersonation. Bytes pass
 * through as they are, both ways; nothing of the client's own credentials does.
 */
export interface ShardConnection {
  /** Sends a client's request on; the shard's answer goes straight to the client. */
  forward(exchange: Exchange, onward: Onward): Promise<void>;
}

/** Makes a request of one's own while answering `parent`, and gives back whatever was answered. */
export async function request(
  connection: ShardConnection,
  parent: Exchange,
  onward: Onward,
  what: BufferedRequest,
): Promise<BufferedAnswer> {
  const exchange = new BufferedExchange(parent, onward.url, what);
  await connection.forward(exchange, onward);
  return exchange.answer();
}

/** The JSON object of a successful answer. Throws the StatusError that any other answer is. */
export function objectOf({ status, body }: BufferedAnswer): JsonObject {
  const text = body.toString();
  if (status < 200 || status > 299) throw failureOf(status, text);
  const value = parseJson(text);
  if (!isJsonObject(value)) throw new Error('the shard answered with something that is no object');
  return value;
}

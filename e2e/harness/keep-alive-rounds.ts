import { setImmediate as immediate } from 'node:timers/promises';
import { Http1Client } from '@multiplane/testing/serving';

/** A server, and what a client may ask it. */
export interface AskedServer {
  readonly port: number;
  readonly ca: string;
  /** Client certificate. */
  readonly cert?: string;
  readonly key?: string;
  readonly headers?: readonly string[];
  /** A document of more bytes than a socket buffers. */
  readonly large: string;
  /** Takes a POST with a JSON body; whatever it answers. */
  readonly post: string;
}

/** How a client sends its requests. */
export interface SendingManner {
  /** Sizes of the pieces in which bytes are written, in turn. */
  readonly pieces: readonly number[];
  readonly framing: 'length' | 'chunked';
  readonly expectsContinue: boolean;
  /** Whether the POST is sent before the document is read. */
  readonly pipelines: boolean;
}

const body = Buffer.from(
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x'.repeat(2_000) } }),
);

/**
 * One keep-alive connection: reads a large document and sends a request with a body, several times. Returns the statuses of all
 * responses; a request without a complete response rejects. A server that closes the connection in an orderly way, which it announces,
 * gets a new one.
 */
export async function playRounds(server: AskedServer, rounds: number, manner: SendingManner): Promise<number[]> {
  const statuses: number[] = [];
  let client: Http1Client | undefined;
  try {
    for (let round = 0; round < rounds; round++) {
      client ??= await Http1Client.open(server);
      const { socket } = client;
      const send = async (bytes: Buffer): Promise<void> => {
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = manner.pieces[turn % manner.pieces.length] ?? bytes.length;
          socket.write(bytes.subarray(at, at + size));
          at += size;
          await immediate();
        }
      };
      const document = client.next('GET');
      await send(headOf(server, 'GET', server.large, []));
      if (!manner.pipelines) await document;
      const answer = client.next('POST');
      const waits = manner.expectsContinue && !manner.pipelines;
      const proceed = waits ? client.anyResponse() : undefined;
      await send(postHead(server, manner, waits));
      await proceed;
      if (!waits || !(await isRefused(answer))) await send(framed(manner));
      const responses = [await document, await answer];
      statuses.push(...responses.map(({ status }) => status));
      if (responses.some(({ headers }) => headers.get('connection') === 'close')) {
        client[Symbol.dispose]();
        client = undefined;
      }
    }
    return statuses;
  } finally {
    client?.[Symbol.dispose]();
  }
}

/** Whether a request got its response instead of `100 Continue`. */
async function isRefused(answer: ReturnType<Http1Client['next']>): Promise<boolean> {
  const pending = immediate(undefined);
  const response = await Promise.race([answer, pending]);
  return response !== undefined && response.interim.length === 0;
}

function headOf({ headers = [] }: AskedServer, method: string, path: string, more: readonly string[]): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost', 'Accept: application/json', ...headers, ...more];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}

const postHead = (server: AskedServer, { framing }: SendingManner, waits: boolean): Buffer =>
  headOf(server, 'POST', server.post, [
    'Content-Type: application/json',
    ...(waits ? ['Expect: 100-continue'] : []),
    framing === 'length' ? `Content-Length: ${body.length}` : 'Transfer-Encoding: chunked',
  ]);

function framed({ framing }: SendingManner): Buffer {
  if (framing === 'length') return body;
  const half = body.length >> 1;
  const chunk = (bytes: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
  return Buffer.concat([chunk(body.subarray(0, half)), chunk(body.subarray(half)), Buffer.from('0\r\n\r\n')]);
}

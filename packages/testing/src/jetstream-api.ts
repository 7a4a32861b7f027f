import { connect, type Socket } from 'node:net';
import { connect as upgrade, type ConnectionOptions } from 'node:tls';

export interface JetStreamApiTarget {
  readonly port: number;
  /** For a server that requires TLS; its certificate must name `localhost`. */
  readonly tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key'> | undefined;
}

const timeoutMs = 10_000;

/**
 * One request to the JetStream API of a NATS server on loopback, as an operator sends it: `STREAM.PURGE.<stream>`,
 * `STREAM.DELETE.<stream>`. Undefined when the connection ends without an answer. Throws the error of the answer.
 */
export async function jetStreamApi(
  { port, tls }: JetStreamApiTarget,
  request: string,
  body?: object,
): Promise<Record<string, unknown> | undefined> {
  const plain = connect(port, '127.0.0.1');
  plain.setTimeout(timeoutMs, () => plain.destroy(new Error('NATS timed out')));
  // NATS greets in plain text; the client then starts TLS.
  const socket: Socket =
    tls === undefined ? plain : (await greeted(plain), upgrade({ ...tls, socket: plain, servername: 'localhost' }));
  try {
    const payload = body === undefined ? '' : JSON.stringify(body);
    socket.write('CONNECT {"verbose":false}\r\nSUB answer 1\r\n');
    socket.write(`PUB $JS.API.${request} answer ${Buffer.byteLength(payload)}\r\n${payload}\r\n`);
    let text = '';
    for await (const chunk of socket.setEncoding('utf8') as AsyncIterable<string>) {
      text += chunk;
      const answer = /\{"type":"io\.nats\.jetstream[^\r]*\}/.exec(text);
      if (answer === null) continue;
      if (answer[0].includes('"error"')) throw new Error(`failed to request ${request}: ${answer[0]}`);
      return JSON.parse(answer[0]) as Record<string, unknown>;
    }
    return undefined;
  } finally {
    socket.destroy();
    plain.destroy();
  }
}

/** Resolves once the greeting has arrived. */
async function greeted(socket: Socket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once('data', () => resolve());
  socket.once('error', reject);
  await promise;
  socket.removeAllListeners('error');
}

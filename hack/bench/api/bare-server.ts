/**
 * The baseline of the API benches: the least a server can do on the same TLS stack. Usage:
 *   bare-server.ts <port> <certificate file> <key file> <file with the bytes of GET /> <file with the bytes of GET /list>
 * GET answers bytes from memory, POST parses the body as JSON and answers it.
 */
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';

const [port, cert, key, object, list] = process.argv.slice(2) as [string, string, string, string, string];
const bytes = readFileSync(object);
const listBytes = readFileSync(list);
const chunk = 64 * 1024;

const server = createSecureServer(
  { cert: readFileSync(cert), key: readFileSync(key), allowHTTP1: true, noDelay: true },
  (request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.method === 'POST') {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const answer = JSON.stringify(JSON.parse(Buffer.concat(parts).toString()));
        response.setHeader('content-length', Buffer.byteLength(answer));
        response.writeHead(201);
        response.end(answer);
      });
      return;
    }
    const body = request.url === '/list' ? listBytes : bytes;
    response.setHeader('content-length', body.length);
    let at = 0;
    const more = (): void => {
      while (at < body.length) {
        const part = body.subarray(at, at + chunk);
        at += part.length;
        if (at >= body.length) {
          response.end(part);
          return;
        }
        if (!response.write(part)) {
          response.once('drain', more);
          return;
        }
      }
    };
    more();
  },
);
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('listening\n'));

/**
 * Many watchers of one object in a process of their own. Usage:
 *   watchers.ts <port> <token> <path of the watch> <watchers> <connections>
 * A path that begins with @ names a file with the paths of all watches, one in each line.
 * Prints `ready` when all watch, then one line of JSON a second: how many deliveries took how many milliseconds since the
 * time in the object's annotation `bench/sent`; ends with standard input.
 */
import { readFileSync } from 'node:fs';
import { connect, type ClientHttp2Session } from 'node:http2';

const [port, token, path, watchers, connections] = process.argv.slice(2) as [string, string, string, string, string];
const marker = Buffer.from('"bench/sent":"');
/** Deliveries of this second by their milliseconds. */
let took = new Map<number, number>();
let ended = 0;
let ready = 0;

function watch(session: ClientHttp2Session, watched: string): void {
  const stream = session.request({ ':path': watched, authorization: `Bearer ${token}` });
  stream.on('response', (headers) => {
    if (headers[':status'] !== 200) throw new Error(`${watched} was answered with ${headers[':status']}`);
    if (++ready === Number(watchers)) process.stdout.write('ready\n');
  });
  stream.on('data', (data: Buffer) => {
    // Frames are small and come whole; a frame cut in two would only miss its sample.
    for (let at = data.indexOf(marker); at >= 0; at = data.indexOf(marker, at + 1)) {
      const sent = Number(data.toString('latin1', at + marker.length, at + marker.length + 13));
      if (sent < 1e12) continue;
      const ms = Date.now() - sent;
      took.set(ms, (took.get(ms) ?? 0) + 1);
    }
  });
  stream.on('close', () => ended++);
  stream.on('error', () => ended++);
}

const sessions = Array.from({ length: Number(connections) }, () =>
  connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, maxSessionMemory: 1000 }),
);
const paths = path.startsWith('@') ? readFileSync(path.slice(1), 'utf8').trim().split('\n') : [path];
for (let i = 0; i < Number(watchers); i++)
  watch(sessions[i % sessions.length] as ClientHttp2Session, paths[i % paths.length] as string);
setInterval(() => {
  process.stdout.write(`${JSON.stringify({ took: [...took], ended })}\n`);
  took = new Map();
}, 1000);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));

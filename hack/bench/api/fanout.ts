import { RawConnection } from './raw-client.ts';
import { connect } from 'node:tls';

/*
 * Writers of objects that watchers of the whole collection follow: `fanout.ts PORT TOKEN COLLECTION WATCHERS WRITERS
 * MILLISECONDS`. Prints, in milliseconds, how long after the request and after its acknowledgement each event was there, and how
 * long the acknowledgements took; all sorted.
 */
const [port = '', token = '', path = '', watchers = '', writers = '', milliseconds = ''] = process.argv.slice(2);
const marker = Buffer.from('"bench/write":"');
const sent: number[] = [];
const acknowledged: number[] = [];
const events: [write: number, at: number][] = [];

function watch(): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false }, () => {
      socket.write(`GET ${path}?watch=1 HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\n\r\n`);
    });
    socket.setNoDelay(true);
    let tail = Buffer.alloc(0);
    socket.on('data', (data: Buffer) => {
      const now = performance.now();
      resolve();
      const all = tail.length === 0 ? data : Buffer.concat([tail, data]);
      let from = 0;
      for (let at = all.indexOf(marker); at >= 0; at = all.indexOf(marker, from)) {
        const end = all.indexOf(0x22, at + marker.length);
        if (end < 0) break;
        from = end;
        events.push([Number(all.toString('latin1', at + marker.length, end)), now]);
      }
      tail = Buffer.from(all.subarray(Math.max(from, all.length - 64)));
    });
  });
}

async function write(writer: number): Promise<void> {
  const connection = await RawConnection.open(Number(port));
  while (performance.now() < deadline) {
    const number = sent.length;
    const body = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `fanout-${writer}`, annotations: { 'bench/write': String(number) } },
    });
    const head = [
      `PATCH ${path}/fanout-${writer}?fieldManager=fanout HTTP/1.1`,
      'host: bench',
      `authorization: Bearer ${token}`,
      'content-type: application/apply-patch+yaml',
      `content-length: ${body.length}`,
    ];
    sent.push(performance.now());
    const { status } = await connection.send(`${head.join('\r\n')}\r\n\r\n${body}`);
    if (status !== 200 && status !== 201) throw new Error(`a write was answered with ${status}`);
    acknowledged[number] = performance.now();
  }
  connection.close();
}

await Promise.all(Array.from({ length: Number(watchers) }, watch));
const deadline = performance.now() + Number(milliseconds);
await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => write(writer)));
await new Promise((resolve) => void setTimeout(resolve, 300));
const sorted = (values: number[]): number[] => values.toSorted((a, b) => a - b);
const afterRequest = events.map(([number, at]) => at - (sent[number] ?? at));
const afterAnswer = events.map(([number, at]) => Math.max(0, at - (acknowledged[number] ?? at)));
const answers = acknowledged.map((at, number) => at - (sent[number] as number));
const shares = (values: number[]): Record<string, number> => {
  const list = sorted(values);
  const at = (share: number): number => list[Math.floor((list.length - 1) * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), count: list.length };
};
process.stdout.write(
  JSON.stringify({
    afterRequest: shares(afterRequest),
    afterAnswer: shares(afterAnswer),
    answers: shares(answers),
  }),
  () => process.exit(0),
);

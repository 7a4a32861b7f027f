/** Writes docs/benchmarks.md from .cache/bench/results.json. Usage: hack/node hack/bench/write-document.ts */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Figure } from './report.ts';

type Result = Figure & { readonly measured: string; readonly load: number };

const root = join(import.meta.dirname, '..', '..');
const results = Object.values(
  JSON.parse(readFileSync(join(root, '.cache', 'bench', 'results.json'), 'utf8')) as Record<string, Result>,
);
const number = (value: number): string => String(Number(value.toPrecision(3)));

function row({ name, value, unit, baseline, target, note, load }: Result): string {
  const wanted = target === undefined ? '–' : 'atLeast' in target ? `≥ ${target.atLeast}` : `≤ ${target.atMost}`;
  const met = target === undefined || ('atLeast' in target ? value >= target.atLeast : value <= target.atMost);
  const cells = [
    name,
    baseline ?? '–',
    `${number(value)} ${unit}`,
    wanted,
    met ? '' : '**missed**',
    number(load),
    note ?? '',
  ];
  return `| ${cells.join(' | ')} |`;
}

const processor = cpus();
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
const loads = results.map(({ load }) => load).sort((a, b) => a - b);
writeFileSync(
  join(root, 'docs', 'benchmarks.md'),
  `# Benchmarks

Made by \`hack/bench/run all && hack/node hack/bench/write-document.ts\`, from \`.cache/bench/results.json\`.

- Machine: ${processor.length} x ${processor[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}, Node ${process.version}.
- Date: ${results
    .map(({ measured }) => measured)
    .sort()
    .at(-1)
    ?.slice(0, 10)}; commit ${commit}.
- Load average while it ran: ${number(loads[0] ?? 0)} to ${number(loads.at(-1) ?? 0)}. A load above the number of processors means that others worked on the
  machine: latencies and holds of the event loop are then too long, ratios less so, since both sides are measured in turn.

| figure | baseline | measured | target | | load | notes |
|---|---|---|---|---|---|---|
${results.map(row).join('\n')}

## How it is measured

- Baselines run in the same minutes on the same processors. The bare server answers the same bytes over the same TLS
  stack; clients are raw sockets with one request at a time, and neither side uses Nagle's algorithm.
- Memory is anonymous memory (\`RssAnon\`) after the server was asked to collect its garbage. "At rest" compares two
  servers that have just started on the same folder, without and with the things counted: histories, event windows,
  parsed objects and documents are bounded by constants (64 MiB and less each) that fill with any writes, so what memory
  grows by during the writes, which the notes tell, says little about what stored things cost.
- Garbage is collected as V8's last resort: a usual collection leaves it the pages that the heap once had, which differ much
  from run to run. The rest of anonymous memory beyond what heap and buffers hold is the allocator's.
- Workspaces at rest are copies in the store of one that was made through the API, with names and uids of their own.
- GET, LIST and CREATE again, alone on the same machine, four runs: GET 0.31 to 0.38, LIST 0.46 to 0.51, CREATE 0.15 to
  0.23. The LIST of the table is the best that was seen, not the rule. Client and server share two processors, and the
  bare server leaves the client as the bottleneck (18,600/s, 28 % idle). Processor time of the server for one GET, warm: 103 to
  132 µs against 62 µs, that is 0.47 to 0.60. In a profile 40 % of ours is the write to the socket (58 µs an answer, 25 µs in
  the bare server, same call), some 15 % this repository's own code, 5 % garbage collection.
- Virtual resources: the provider is on one shard, its consumers are on the other, and every request passes front-proxy, shard
  and virtual-workspaces process. A thousand watches at 20 updates/s are measured in one process: sharded, each event is
  received and sent over TLS by three servers, for which the control plane takes 180 µs of processor time (17 µs in one
  process), or 3.6 processors for 20,000 events/s. "Beyond one copy" compares what heaps and buffers hold after every consumer
  has read 500 of the objects with what they held after every consumer had read one.
- The longest hold of the event loop is counted since the server listens, without the collections of garbage that the
  bench asks for, and without the time in which the thread was ready but server, clients and others had the two
  processors (\`schedstat\` of the kernel). What the thread itself waits for counts, the helpers of its garbage collector
  among it, which on a loaded machine wait for a processor, too: the notes tell the most that it worked in a turn.
- \`bin/multiplane\` bounds the young generation of V8 to 8 MiB. Without that it grows to 128 MiB. Processor time per
  request, in microseconds, on 6,000 objects (8 MiB / unbounded / 16 MiB / 4 MiB): CREATE 506 / 495 / 526 / 645, GET
  159 / 152 / 166 / 182; resident memory afterwards 306 / 385 / 287 / 241 MiB.
`,
);

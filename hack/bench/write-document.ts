/**
 * Writes the figures of .cache/bench/results.json into docs/benchmarks.md. Usage: hack/node hack/bench/write-document.ts
 *
 * Only the part between the marks is written. In its table the figures replace those of the same name; rows that were
 * not measured again stay. All other text of the document is written by hand.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Figure } from './report.ts';

type Result = Figure & { readonly measured: string; readonly load: number };

const root = join(import.meta.dirname, '..', '..');
const file = join(root, 'docs', 'benchmarks.md');
const begin = '<!-- begin: hack/bench/write-document.ts -->';
const end = '<!-- end: hack/bench/write-document.ts -->';
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

/** The rows of a table by their first cell; head and rule of the table are left out. */
function rowsOf(text: string): Map<string, string> {
  const rows = text.split('\n').filter((line) => line.startsWith('| '));
  return new Map(rows.slice(1).map((line) => [line.slice(2, line.indexOf(' |', 2)), line]));
}

const document = readFileSync(file, 'utf8');
const from = document.indexOf(begin);
const to = document.indexOf(end);
if (from < 0 || to < from) throw new Error(`${file} has no marks ${begin} and ${end}`);
const rows = rowsOf(document.slice(from, to));
for (const result of results) rows.set(result.name, row(result));

const processor = cpus();
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
const loads = results.map(({ load }) => load).toSorted((a, b) => a - b);
const newest = results.map(({ measured }) => measured.slice(0, 10)).toSorted();
const made = `${begin}

- Machine: ${processor.length} x ${processor[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}, Node ${process.version}.
- The newest rows are of ${newest.at(-1)}, commit ${commit}; load average while they were measured: ${number(loads[0] ?? 0)} to ${number(loads.at(-1) ?? 0)}. A load
  above the number of processors means that others worked on the machine: latencies and holds of the event loop are then too
  long, ratios less so, since both sides are measured in turn.

| figure | baseline | measured | target | | load | notes |
|---|---|---|---|---|---|---|
${[...rows.values()].join('\n')}

`;
writeFileSync(file, document.slice(0, from) + made + document.slice(to));

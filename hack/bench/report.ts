import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '..', '..', '.cache', 'bench');

/** One line of the table: what was measured, against what, and what it should be at least (or at most). */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly baseline?: string | undefined;
  /** The target, and whether the value should be above or below it. */
  readonly target?: { readonly atLeast: number } | { readonly atMost: number } | undefined;
  readonly note?: string | undefined;
}

/** Prints figures as they come and keeps them in `.cache/bench/results.json`, by name, over all benches of a run. */
export function report(figure: Figure): void {
  const { target } = figure;
  const wanted = target === undefined ? '' : 'atLeast' in target ? `>= ${target.atLeast}` : `<= ${target.atMost}`;
  const met =
    target === undefined
      ? ''
      : ('atLeast' in target ? figure.value >= target.atLeast : figure.value <= target.atMost)
        ? 'ok'
        : 'MISSED';
  console.log(
    `  ${figure.name.padEnd(64)} ${`${round(figure.value)} ${figure.unit}`.padStart(14)} ${wanted.padStart(10)} ${met.padStart(7)}${figure.note === undefined ? '' : `   ${figure.note}`}`,
  );
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'results.json');
  const all = read(file);
  all[figure.name] = { ...figure, measured: new Date().toISOString(), load: loadavg()[0] };
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
}

function read(file: string): Record<string, unknown> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const round = (value: number): number => Number(value.toPrecision(3));

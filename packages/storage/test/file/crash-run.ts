import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { eventsUpTo } from '../conformance/events-up-to.ts';
import type { Storage } from '../../src/interface.ts';
import { crashPrefix, type CrashWriterOptions, readCrashValue } from './crash-writer.ts';

/** Three quarters of the processor time of a start are for removing types and compiling. */
const compiled = fileURLToPath(new URL('../../../../.cache/node', import.meta.url));

interface Step {
  readonly kind: string;
  readonly number: number;
}

/** TEST HELPER: one run of the writer program and its output. */
export class CrashRun {
  readonly #child: ChildProcess;
  readonly #said: Promise<string>;
  #acknowledged = 0;
  #refused = 0;
  #hasEnded = false;
  #wake: () => void = () => undefined;

  constructor(options: CrashWriterOptions) {
    const program = fileURLToPath(new URL('./crash-writer.ts', import.meta.url));
    // Packages resolve to their sources: the test needs no build.
    this.#child = spawn(process.execPath, ['--conditions=multiplane-source', program, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { NODE_COMPILE_CACHE: compiled },
    });
    this.#said = this.#listen();
  }

  /** Resolves when this many writes were refused because the store is full; rejects when the program ends before. */
  async refused(count: number): Promise<void> {
    while (this.#refused < count) await this.#news();
  }

  /** Resolves when this many writes were acknowledged; rejects when the program ends before. */
  async acknowledged(count: number): Promise<void> {
    while (this.#acknowledged < count) await this.#news();
  }

  /** Number of acknowledged writes. */
  get writes(): number {
    return this.#acknowledged;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Sends SIGKILL; returns the output of the program. */
  async kill(): Promise<string> {
    this.#child.kill('SIGKILL');
    return await this.#said;
  }

  async #news(): Promise<void> {
    if (this.#hasEnded) throw new Error(`the writer has ended with ${this.#child.exitCode}`);
    await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  async #listen(): Promise<string> {
    let said = '';
    let rest = '';
    for await (const chunk of this.#child.stdout?.setEncoding('latin1') ?? []) {
      said += String(chunk);
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line.startsWith('A')) this.#acknowledged++;
        else if (line.startsWith('F')) this.#refused++;
      }
      this.#wake();
    }
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
    this.#hasEnded = true;
    this.#wake();
    return said;
  }
}

/** TEST HELPER: the expected content of the store after runs of the writer program. */
export class CrashModel {
  /** Number of the value of each key. */
  #values = new Map<string, number>();
  #revision = 1;

  /** Checks the store after a run; throws on the first violation. Returns the number of acknowledged writes. */
  async check(store: Storage, said: string, history: boolean): Promise<number> {
    const before = this.#revision;
    const { values, undecided, revisions } = this.#read(said);
    const { items, revision } = await store.list(crashPrefix);
    const found = new Map(items.map((item) => [item.key, readCrashValue(item.value)]));
    for (const key of new Set([...values.keys(), ...undecided.keys(), ...found.keys()])) {
      const step = undecided.get(key);
      const after = step?.kind === 'delete' ? undefined : step?.number;
      const actual = found.get(key);
      if (actual !== values.get(key) && (step === undefined || actual !== after)) {
        throw new Error(
          `${key} holds ${actual}, acknowledged is ${values.get(key)}, under way was ${step?.kind} ${after}`,
        );
      }
    }
    for (const acknowledged of revisions.keys()) {
      if (acknowledged <= before) throw new Error(`revision ${acknowledged} was given out after ${before}`);
      if (acknowledged > revision) throw new Error(`revision ${acknowledged} was lost, the store is at ${revision}`);
    }
    if (history) await this.#checkHistory(store, before, revision, revisions);
    this.#values = found;
    this.#revision = revision;
    return revisions.size;
  }

  #read(said: string): { values: Map<string, number>; undecided: Map<string, Step>; revisions: Map<number, string> } {
    const values = new Map(this.#values);
    const undecided = new Map<string, Step>();
    const revisions = new Map<number, string>();
    // The last line may be incomplete.
    for (const line of said.slice(0, said.lastIndexOf('\n') + 1).split('\n')) {
      const [what, key = '', third = '', number = ''] = line.split(' ');
      if (what === 'I') undecided.set(key, { kind: third, number: Number(number) });
      if (what === 'F') undecided.delete(key);
      if (what !== 'A') continue;
      const step = undecided.get(key);
      if (step === undefined || revisions.has(Number(third))) throw new Error(`out of order: ${line}`);
      revisions.set(Number(third), `${key} ${step.kind === 'delete' ? 'delete' : step.number}`);
      if (step.kind === 'delete') values.delete(key);
      else values.set(key, step.number);
      undecided.delete(key);
    }
    return { values, undecided, revisions };
  }

  /** The history must contain every acknowledged write at its revision without gaps, and lead to the current state. */
  async #checkHistory(store: Storage, after: number, last: number, revisions: Map<number, string>): Promise<void> {
    if (last === after) return;
    const state = new Map(this.#values);
    let reached = after;
    for (const event of await eventsUpTo(store, '/', after, last)) {
      if (event.revision !== ++reached) throw new Error(`the history lacks revision ${reached}`);
      const number = event.type === 'put' ? readCrashValue(event.value ?? Buffer.alloc(0)) : undefined;
      const recorded = `${event.key} ${number ?? 'delete'}`;
      const acknowledged = revisions.get(event.revision);
      if (acknowledged !== undefined && acknowledged !== recorded)
        throw new Error(`${recorded} instead of ${acknowledged}`);
      if (number === undefined) state.delete(event.key);
      else state.set(event.key, number);
    }
    const { items } = await store.list(crashPrefix);
    for (const { key, value } of items) {
      if (state.get(key) !== readCrashValue(value))
        throw new Error(`the history does not lead to the current value of ${key}`);
      state.delete(key);
    }
    if (state.size > 0) throw new Error(`the history knows of ${[...state.keys()].join(' ')}`);
  }
}

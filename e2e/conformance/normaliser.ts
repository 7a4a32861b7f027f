import type { Step } from './scenario.ts';
import type { Value } from './json-pointer.ts';

interface NormaliserOptions {
  readonly run: string;
  /** `host:port` of the server. */
  readonly host: string;
  readonly numberRevisions: boolean;
  /** Annotations and reasons of kcp's own count. */
  readonly kcp: boolean;
  /** Captured and computed values; in a kcp scenario they are replaced by their names. */
  readonly variables: Readonly<Record<string, Value>>;
}

/**
 * Replaces what differs between two honest servers by stable names: uids and revisions by order of appearance, times,
 * the server's address. One for each scenario, so that equal uids stay equal from step to step.
 */
export class Normaliser {
  readonly #options: NormaliserOptions;
  readonly #uids = new Map<string, string>();
  /** Identities of exports that no variable names. */
  readonly #hashes = new Map<string, string>();
  readonly #revisions = new Map<unknown, string>();
  constructor(options: NormaliserOptions) {
    this.#options = options;
  }

  text(text: string, step: Pick<Step, 'mask'> = {}): string {
    const named = this.#masked(text)
      .replaceAll(this.#options.run, '{{run}}')
      .replaceAll(this.#options.host, '{{host}}')
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, (uid) =>
        numbered(this.#uids, uid, 'uid'),
      )
      .replace(/\b(?=[a-f]*\d)[0-9a-f]{64}\b/g, (hash) =>
        this.#options.kcp ? numbered(this.#hashes, hash, 'hash') : hash,
      )
      .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, '{{time}}');
    // In a workspace every 403 ends with a reason of kcp's own.
    const plain = this.#options.kcp ? named : named.replace(/: access denied$/, '');
    return (step.mask ?? []).reduce((value, pattern) => value.replace(new RegExp(pattern, 'g'), '{{masked}}'), plain);
  }

  /** Longest value first, so that one which contains another keeps its name. Short ones would hit by accident. */
  #masked(text: string): string {
    if (!this.#options.kcp) return text;
    return Object.entries(this.#options.variables)
      .filter((entry): entry is [string, string] => entry[0] !== 'run' && isLongText(entry[1]))
      .sort(([, a], [, b]) => b.length - a.length)
      .reduce((masked, [name, value]) => masked.replaceAll(value, `{{${name}}}`), text);
  }

  value(value: Value, step: Pick<Step, 'mask' | 'managedFields'> = {}, key = ''): Value {
    if (Array.isArray(value)) return value.map((item: Value) => this.value(item, step));
    if (typeof value === 'object' && value !== null) return this.#object(value as Record<string, Value>, step);
    if (typeof value !== 'string') return value;
    if (/^(resourceVersion|continue)$/.test(key) && value !== '' && value !== '0') return `{{${key}}}`;
    return this.text(value, step);
  }

  #object(object: Record<string, Value>, step: Pick<Step, 'mask' | 'managedFields'>): Record<string, Value> {
    const out: Record<string, Value> = {};
    for (const [key, value] of Object.entries(object)) {
      if (key === 'managedFields' && step.managedFields !== true) continue;
      if (key === 'annotations' && !this.#options.kcp && typeof value === 'object' && value !== null) {
        const kept = Object.entries(value).filter(([name]) => !/(^|\.)kcp\.io\//.test(name));
        if (kept.length > 0) out[key] = this.value(Object.fromEntries(kept), step);
      } else if (this.#options.numberRevisions && key === 'resourceVersion' && typeof object['uid'] === 'string') {
        out[key] = numbered(this.#revisions, value, 'rv');
      } else {
        out[this.text(key)] = this.value(value, step, key);
      }
    }
    return out;
  }
}

const isLongText = (value: unknown): value is string => typeof value === 'string' && value.length >= 6;

function numbered<K>(known: Map<K, string>, value: K, name: string): string {
  const old = known.get(value);
  if (old !== undefined) return old;
  const label = `{{${name}${known.size + 1}}}`;
  known.set(value, label);
  return label;
}

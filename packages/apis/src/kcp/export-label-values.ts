import { exportLabelValue } from './api-sharing.ts';

/** As many as a busy shard binds. */
const maxKept = 4096;

/**
 * {@link exportLabelValue} for who asks again and again: a binding is judged many times on its way, and the hash costs more
 * than the rest of it. Holds the exports that were asked for since it was full.
 */
export class ExportLabelValues {
  readonly #values = new Map<string, string>();

  of(exportCluster: string, exportName: string): string {
    const key = `${exportCluster}:${exportName}`;
    let value = this.#values.get(key);
    if (value === undefined) {
      value = exportLabelValue(exportCluster, exportName);
      if (this.#values.size === maxKept) this.#values.clear();
      this.#values.set(key, value);
    }
    return value;
  }
}

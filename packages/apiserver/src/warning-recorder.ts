/** Characters of all warnings together that are sent in full. */
const budget = 4096;
/** What remains of each once the budget is used up. */
const truncatedLength = 256;

// eslint-disable-next-line no-control-regex
const unprintable = /[\u0000-\u001f\u007f]/g;

/** Warnings of one request, each once, as `Warning` headers (K1.7). */
export class WarningRecorder {
  readonly #texts = new Set<string>();
  #length = 0;
  #truncating = false;

  /** False: the text was there already, or there is no room left. */
  add(text: string): boolean {
    if (text === '' || this.#texts.has(text)) return false;
    const length = [...text].length;
    if (this.#truncating && this.#length >= budget) return false;
    this.#texts.add(text);
    if (!this.#truncating && this.#length + length > budget) {
      this.#truncating = true;
      this.#length = 0;
      for (const known of this.#texts) this.#length += Math.min([...known].length, truncatedLength);
    } else {
      this.#length += this.#truncating ? Math.min(length, truncatedLength) : length;
    }
    return true;
  }

  /** One value per header. */
  headers(): string[] {
    const headers: string[] = [];
    let left = budget;
    for (const text of this.#texts) {
      const shown = this.#truncating ? [...text].slice(0, truncatedLength).join('') : text;
      left -= [...shown].length;
      if (left < 0) break;
      headers.push(`299 - "${asHeader(shown)}"`);
    }
    return headers;
  }
}

/** Quoted-string (RFC 9110 §5.6.4); header values are bytes, so the text goes out as UTF-8. */
function asHeader(text: string): string {
  const quoted = text.replaceAll(unprintable, ' ').replaceAll(/["\\]/g, String.raw`\$&`);
  return Buffer.from(quoted, 'utf8').toString('latin1');
}

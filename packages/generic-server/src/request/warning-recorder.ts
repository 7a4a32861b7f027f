/** Characters of all warnings together that are sent in full. */
const budget = 4096;
/** What remains of each once the budget is used up. */
const truncatedLength = 256;

// eslint-disable-next-line no-control-regex
const unprintable = /[\u0000-\u001f\u007f]/g;

/** Warnings of one request, each once, as `Warning` headers (K1.7). */
export class WarningRecorder {
  /** By text; the characters of each, because limits count those. */
  readonly #warnings = new Map<string, readonly string[]>();
  #length = 0;
  #truncating = false;

  /** False: the text was there already, or there is no room left. */
  add(text: string): boolean {
    if (text === '' || this.#warnings.has(text) || (this.#truncating && this.#length >= budget)) return false;
    const characters = Array.from(text);
    this.#warnings.set(text, characters);
    this.#length += this.#shown(characters);
    if (!this.#truncating && this.#length > budget) {
      this.#truncating = true;
      this.#length = 0;
      for (const known of this.#warnings.values()) this.#length += this.#shown(known);
    }
    return true;
  }

  /** One value per header. */
  headers(): string[] {
    const headers: string[] = [];
    let left = budget;
    for (const characters of this.#warnings.values()) {
      const shown = this.#shown(characters);
      left -= shown;
      if (left < 0) break;
      headers.push(`299 - "${asHeader(characters.slice(0, shown).join(''))}"`);
    }
    return headers;
  }

  #shown({ length }: readonly string[]): number {
    return this.#truncating ? Math.min(length, truncatedLength) : length;
  }
}

/** Quoted-string (RFC 9110 §5.6.4); header values are bytes, so the text goes out as UTF-8. */
function asHeader(text: string): string {
  const quoted = text.replaceAll(unprintable, ' ').replaceAll(/["\\]/g, String.raw`\$&`);
  return Buffer.from(quoted, 'utf8').toString('latin1');
}

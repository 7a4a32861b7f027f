/** Total characters of warnings. Above it, each warning is truncated; the limits are those of kube-apiserver. */
const maxTotalLength = 4096;
/** Characters of a truncated warning. */
const truncatedLength = 256;

// eslint-disable-next-line no-control-regex
const unprintable = /[\u0000-\u001f\u007f]/g;

/** Deduplicated warnings of one request, as `Warning` headers. */
export class WarningRecorder {
  /** Code points by text, because limits count those. */
  readonly #warnings = new Map<string, readonly string[]>();
  #length = 0;
  #truncating = false;

  /** Returns false if the text is a duplicate or the limit is reached. */
  add(text: string): boolean {
    if (text === '' || this.#warnings.has(text) || (this.#truncating && this.#length >= maxTotalLength)) return false;
    const characters = Array.from(text);
    this.#warnings.set(text, characters);
    this.#length += this.#shownLength(characters);
    if (!this.#truncating && this.#length > maxTotalLength) {
      this.#truncating = true;
      this.#length = 0;
      for (const warning of this.#warnings.values()) this.#length += this.#shownLength(warning);
    }
    return true;
  }

  /** One value per header. */
  headers(): string[] {
    const headers: string[] = [];
    let remaining = maxTotalLength;
    for (const characters of this.#warnings.values()) {
      const shown = this.#shownLength(characters);
      remaining -= shown;
      if (remaining < 0) break;
      headers.push(`299 - "${asHeader(characters.slice(0, shown).join(''))}"`);
    }
    return headers;
  }

  #shownLength({ length }: readonly string[]): number {
    return this.#truncating ? Math.min(length, truncatedLength) : length;
  }
}

/** A quoted-string (RFC 9110 §5.6.4) as UTF-8 bytes: Node writes header values as Latin-1. */
function asHeader(text: string): string {
  const quoted = text.replaceAll(unprintable, ' ').replaceAll(/["\\]/g, String.raw`\$&`);
  return Buffer.from(quoted, 'utf8').toString('latin1');
}

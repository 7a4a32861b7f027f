import type { Issue } from './issues.ts';

export type TokenKind =
  | 'eof'
  | 'identifier'
  | 'escaped'
  | 'int'
  | 'uint'
  | 'float'
  | 'string'
  | 'bytes'
  | 'keyword'
  | 'punctuation';
export interface Token {
  readonly kind: TokenKind;
  /** As written in the source. */
  readonly text: string;
  readonly at: number;
}

const punctuation = ['==', '!=', '<=', '>=', '&&', '||', ...Array.from('<>[]{}().,-!?:+*/%')];
const keywords = new Set(['in', 'true', 'false', 'null']);
/** After so many the rest is no expression. */
const mostIssues = 100;
const isDigit = (char: string): boolean => char >= '0' && char <= '9';
const isHex = (char: string): boolean => isDigit(char) || (char >= 'a' && char <= 'f') || (char >= 'A' && char <= 'F');
const isLetter = (char: string): boolean =>
  (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z') || char === '_';

/** Splits a source into tokens (the lexer rules of cel-go's grammar). What is no token is reported and skipped. */
export class Lexer {
  readonly #source: string;
  readonly #issues: Issue[];
  #at = 0;

  constructor(source: string, issues: Issue[]) {
    this.#source = source;
    this.#issues = issues;
  }

  tokens(): Token[] {
    const tokens: Token[] = [];
    for (;;) {
      this.#skip();
      if (this.#at >= this.#source.length || this.#issues.length >= mostIssues) break;
      const token = this.#next();
      if (token !== undefined) tokens.push(token);
    }
    tokens.push({ kind: 'eof', text: '<EOF>', at: this.#source.length });
    return tokens;
  }

  #peek(ahead = 0): string {
    return this.#source.charAt(this.#at + ahead);
  }

  #skip(): void {
    for (;;) {
      const char = this.#peek();
      if (char === ' ' || char === '\t' || char === '\n' || char === '\r' || char === '\f') this.#at++;
      else if (char === '/' && this.#peek(1) === '/') {
        const end = this.#source.indexOf('\n', this.#at);
        this.#at = end < 0 ? this.#source.length : end;
      } else return;
    }
  }

  #next(): Token | undefined {
    const char = this.#peek();
    const start = this.#at;
    if (isDigit(char) || (char === '.' && isDigit(this.#peek(1)))) return this.#number(start);
    const prefix = this.#stringPrefix();
    if (prefix !== undefined) {
      const end = this.#stringEnd(start + prefix.length, /r/i.test(prefix));
      if (end !== undefined) return this.#token(/b/i.test(prefix) ? 'bytes' : 'string', start, end);
      if (prefix === '') return this.#unrecognized(start, this.#unterminatedEnd(start));
    }
    if (isLetter(char)) {
      let end = start + 1;
      while (isLetter(this.#source.charAt(end)) || isDigit(this.#source.charAt(end))) end++;
      return this.#token(keywords.has(this.#source.slice(start, end)) ? 'keyword' : 'identifier', start, end);
    }
    if (char === '`') {
      const match = /^`[A-Za-z0-9_.\-/ ]+`/.exec(this.#source.slice(start, start + 1024));
      if (match !== null) return this.#token('escaped', start, start + match[0].length);
    }
    const mark = punctuation.find((text) => this.#source.startsWith(text, start));
    if (mark !== undefined) return this.#token('punctuation', start, start + mark.length);
    return this.#unrecognized(start, start + String.fromCodePoint(this.#source.codePointAt(start) ?? 0).length);
  }

  #token(kind: TokenKind, start: number, end: number): Token {
    this.#at = end;
    return { kind, text: this.#source.slice(start, end), at: start };
  }

  #unrecognized(start: number, end: number): undefined {
    // cel-go's lexer takes a lone operator character together with the one after it.
    const taken = '&|='.includes(this.#source.charAt(start)) ? Math.min(end + 1, this.#source.length) : end;
    const text = this.#source
      .slice(start, taken)
      .replaceAll('\n', '\\n')
      .replaceAll('\r', '\\r')
      .replaceAll('\t', '\\t');
    this.#issues.push({ at: start, message: `Syntax error: token recognition error at: '${text}'` });
    this.#at = taken;
    return undefined;
  }

  #number(start: number): Token {
    let end = start;
    const digits = (): void => {
      while (isDigit(this.#source.charAt(end))) end++;
    };
    const unsigned = (): boolean => this.#source.charAt(end) === 'u' || this.#source.charAt(end) === 'U';
    if (this.#source.startsWith('0x', start) && isHex(this.#source.charAt(start + 2))) {
      end += 2;
      while (isHex(this.#source.charAt(end))) end++;
      return unsigned() ? this.#token('uint', start, end + 1) : this.#token('int', start, end);
    }
    digits();
    if (unsigned()) return this.#token('uint', start, end + 1);
    let float = false;
    if (this.#source.charAt(end) === '.' && isDigit(this.#source.charAt(end + 1))) {
      float = true;
      end++;
      digits();
    }
    const exponent = /^[eE][+-]?[0-9]/.exec(this.#source.slice(end, end + 3));
    if (exponent !== null) {
      float = true;
      end += exponent[0].length;
      digits();
    }
    return this.#token(float ? 'float' : 'int', start, end);
  }

  /** The letters before an opening quote; undefined: here begins no string. */
  #stringPrefix(): string | undefined {
    for (const length of [0, 1, 2]) {
      const quote = this.#peek(length);
      const prefix = this.#source.slice(this.#at, this.#at + length);
      if ((quote === '"' || quote === "'") && /^(?:[bB]?[rR]?)$/.test(prefix)) return prefix;
    }
    return undefined;
  }

  /** The end of a string that begins at `open`; undefined: it has none. */
  #stringEnd(open: number, raw: boolean): number | undefined {
    const quote = this.#source.charAt(open);
    const triple = this.#source.startsWith(quote.repeat(3), open);
    const close = triple ? quote.repeat(3) : quote;
    let at = open + close.length;
    while (at < this.#source.length) {
      const char = this.#source.charAt(at);
      if (this.#source.startsWith(close, at)) return at + close.length;
      if (!triple && (char === '\n' || char === '\r')) return undefined;
      if (char === '\\' && !raw) {
        const escape = /^\\(?:[abfnrtv"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7][0-7])/.exec(
          this.#source.slice(at, at + 10),
        );
        if (escape === null) return undefined;
        at += escape[0].length;
      } else at++;
    }
    return undefined;
  }

  #unterminatedEnd(open: number): number {
    const line = this.#source.slice(open).search(/[\n\r\\]/);
    return line < 0 ? this.#source.length : open + Math.max(line, 1);
  }
}

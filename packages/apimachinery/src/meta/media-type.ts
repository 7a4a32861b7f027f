/** One media type with its parameters. Type and names of parameters are lower case. */
export interface MediaType {
  /** `application/json`, `application/*` or any type. */
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** One clause of an Accept header. */
export interface AcceptClause extends MediaType {
  readonly quality: number;
}

const noParameters: ReadonlyMap<string, string> = new Map();

/** A `Content-Type`. The type of an empty header is the empty text; what makes no sense keeps its type part. */
export function parseMediaType(header: string): MediaType {
  const semicolon = header.indexOf(';');
  if (semicolon < 0) return { type: header.trim().toLowerCase(), parameters: noParameters };
  return {
    type: header.slice(0, semicolon).trim().toLowerCase(),
    parameters: parseParameters(header.slice(semicolon + 1)),
  };
}

function parseParameters(text: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const part of splitOutsideQuotes(text, ';')) {
    const equals = part.indexOf('=');
    if (equals < 0) continue;
    const value = part.slice(equals + 1).trim();
    parameters.set(part.slice(0, equals).trim().toLowerCase(), unquote(value));
  }
  return parameters;
}

const unquote = (value: string): string =>
  value.length >= 2 && value.startsWith('"') && value.endsWith('"')
    ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1')
    : value;

function splitOutsideQuotes(text: string, separator: string): string[] {
  if (!text.includes('"')) return text.split(separator);
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const char = text[index];
    if (char === '"') quoted = !quoted;
    else if (char === '\\' && quoted) index++;
    else if (char === separator && !quoted) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

/**
 * Clauses of an Accept header, best first; clauses of the same quality keep their order, and quality 0 stays in (a
 * server that ignores it does as Kubernetes does). Clauses that are no media type are left out.
 */
export function parseAccept(header: string): AcceptClause[] {
  const clauses: AcceptClause[] = [];
  let sorted = true;
  for (const part of splitOutsideQuotes(header, ',')) {
    const { type, parameters } = parseMediaType(part);
    const normalized = type === '*' ? '*/*' : type;
    if (!isMediaType(normalized)) continue;
    const quality = parseQuality(parameters.get('q'));
    const last = clauses.at(-1);
    if (last !== undefined && last.quality < quality) sorted = false;
    clauses.push({ type: normalized, parameters, quality });
  }
  return sorted ? clauses : clauses.sort((a, b) => b.quality - a.quality);
}

function isMediaType(type: string): boolean {
  const slash = type.indexOf('/');
  return slash > 0 && slash < type.length - 1 && !type.includes('/', slash + 1);
}

function parseQuality(text: string | undefined): number {
  if (text === undefined || text === '') return 1;
  const quality = Number(text);
  return Number.isFinite(quality) ? quality : 1;
}

/** Whether a clause accepts a type: equal, or `type/*`, or any type at all. */
export function accepts(clause: MediaType, type: string): boolean {
  if (clause.type === type || clause.type === '*/*') return true;
  return clause.type.endsWith('/*') && type.startsWith(clause.type.slice(0, -1));
}

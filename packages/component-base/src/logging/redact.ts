import type { LogFields } from './logger.ts';

/** Replacement of a secret. */
const redacted = '[redacted]';

/** Names of fields whose value is never written. Matched without regard to case, `-` and `_`. */
const secretName =
  /^(authorization|proxyauthorization|cookie|setcookie|password|passwd|passphrase|secret|clientsecret|token|accesstoken|refreshtoken|idtoken|bearertoken|privatekey|privatekeypem|keydata|clientkeydata|apikey|credentials?|body|stringdata)$/;

/** Secrets that are recognised by their shape in any text: bearer headers, JWTs, private keys, passwords in URLs. */
const secretShapes: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[\w\-.~+/]{6,}=*/gi, `$1 ${redacted}`],
  [/\beyJ[\w-]{4,}\.[\w-]{4,}\.[\w-]*/g, redacted],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, redacted],
  [/(\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s/:@]{1,200}:)[^\s/@]{1,200}@/gi, `$1${redacted}@`],
  [/([?&](?:access_token|token|client_secret|password)=)[^&\s]+/gi, `$1${redacted}`],
];

/** Every secret shape contains one of these and most texts contain none: one regular expression instead of five. */
const mayHoldSecret = /bearer|basic|eyJ|BEGIN|:\/\/|[?&]/i;

/** Bounds of a log line; deeper or longer values are cut. */
const deepest = 6;
const longestList = 50;
const longestText = 8192;

/** A text without the secrets that can be recognised by their shape. */
export function redactText(text: string): string {
  const short = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
  if (!mayHoldSecret.test(short)) return short;
  return secretShapes.reduce((result, [shape, replacement]) => result.replace(shape, replacement), short);
}

/** Fields as plain JSON values, redacted by field name and by the shape of texts. Errors become objects. */
export function redactFields(fields: LogFields): Record<string, unknown> {
  return redactObject(fields, 0, new Set());
}

function redactObject(value: object, depth: number, above: Set<object>): Record<string, unknown> {
  // A null prototype, because tenants may use the name `__proto__`.
  const result = Object.create(null) as Record<string, unknown>;
  above.add(value);
  for (const [name, inner] of Object.entries(value)) {
    result[name] =
      namesSecret(name) && inner !== undefined && inner !== null ? redacted : redactValue(inner, depth + 1, above);
  }
  above.delete(value);
  return result;
}

/** Whether a field name denotes a secret, memoized: most names come from code. Bounded for names that do not. */
const secretNames = new Map<string, boolean>();

function namesSecret(name: string): boolean {
  let answer = secretNames.get(name);
  if (answer === undefined) {
    answer = secretName.test(name.toLowerCase().replaceAll(/[-_]/g, ''));
    if (secretNames.size < 1000) secretNames.set(name, answer);
  }
  return answer;
}

function redactValue(value: unknown, depth: number, above: Set<object>): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? undefined : value;
  if (above.has(value)) return '[circular]';
  if (depth > deepest) return '[deeper]';
  if (value instanceof Error) return describeError(value, depth, above);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Set) return redactList([...value], depth, above);
  if (value instanceof Map) return redactObject(Object.fromEntries(value as Map<string, unknown>), depth, above);
  return Array.isArray(value) ? redactList(value, depth, above) : redactObject(value, depth, above);
}

function redactList(list: readonly unknown[], depth: number, above: Set<object>): unknown[] {
  const shown = list.slice(0, longestList).map((item) => redactValue(item, depth + 1, above));
  return list.length > longestList ? [...shown, `… ${list.length - longestList} more`] : shown;
}

function describeError(error: Error, depth: number, above: Set<object>): Record<string, unknown> {
  // Own enumerable properties (a code, a status) first; the standard ones are not enumerable.
  const described = redactObject(error, depth, above);
  above.add(error);
  described['name'] = error.name;
  described['message'] = redactText(error.message);
  if (error.stack !== undefined) described['stack'] = redactText(error.stack);
  if (error.cause !== undefined) described['cause'] = redactValue(error.cause, depth + 1, above);
  if (error instanceof AggregateError) described['errors'] = redactList(error.errors, depth, above);
  above.delete(error);
  return described;
}

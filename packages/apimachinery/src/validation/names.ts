/**
 * Checks of names. Each function returns Kubernetes' messages for what is wrong, in its order, and an
 * empty list for a good name. The patterns are anchored and made of disjoint character classes, so that matching is
 * linear whatever a client sends.
 */

const labelFormat = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const label1035Format = '[a-z]([-a-z0-9]*[a-z0-9])?';
const subdomainFormat = String.raw`[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`;
const qualifiedNameFormat = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValueFormat = '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?';
const configMapKeyFormat = '[-._a-zA-Z0-9]+';

const whole = (format: string): RegExp => new RegExp(`^(?:${format})$`);
const labelPattern = whole(labelFormat);
const label1035Pattern = whole(label1035Format);
const subdomainPattern = whole(subdomainFormat);
const qualifiedNamePattern = whole(qualifiedNameFormat);
const labelValuePattern = whole(labelValueFormat);
const configMapKeyPattern = whole(configMapKeyFormat);

const formatMessage = (rule: string, format: string, ...examples: string[]): string =>
  `${rule} (e.g. ${examples.map((example) => `'${example}'`).join(',  or ')}, regex used for validation is '${format}')`;

const labelMessage = formatMessage(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  labelFormat,
  'my-name',
  '123-abc',
);
const label1035Message = formatMessage(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  label1035Format,
  'my-name',
  'abc-123',
);
const subdomainMessage = formatMessage(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  subdomainFormat,
  'example.com',
);
const qualifiedNameMessage = formatMessage(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  qualifiedNameFormat,
  'MyName',
  'my.name',
  '123-abc',
);
const labelValueMessage = formatMessage(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  labelValueFormat,
  'MyValue',
  'my_value',
  '12345',
);
const configMapKeyMessage = formatMessage(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  configMapKeyFormat,
  'key.name',
  'KEY_NAME',
  'key-name',
);

const maxLabelLength = 63;
const maxSubdomainLength = 253;
/** Nothing that a text is made of takes more than three bytes: most need not be counted. */
const exceeds = (text: string, maxBytes: number): boolean =>
  text.length * 3 > maxBytes && Buffer.byteLength(text, 'utf8') > maxBytes;
const tooLong = (max: number, unit: 'characters' | 'bytes'): string => `must be no more than ${max} ${unit}`;

/** A DNS label (RFC 1123): namespaces. */
export function validateDns1123Label(name: string): string[] {
  const messages = exceeds(name, maxLabelLength) ? [tooLong(maxLabelLength, 'characters')] : [];
  if (!labelPattern.test(name)) messages.push(subdomainPattern.test(name) ? 'must not contain dots' : labelMessage);
  return messages;
}

/** A DNS label that begins with a letter (RFC 1035): names of versions, plural names. */
export function validateDns1035Label(name: string): string[] {
  const messages = exceeds(name, maxLabelLength) ? [tooLong(maxLabelLength, 'characters')] : [];
  if (!label1035Pattern.test(name)) messages.push(label1035Message);
  return messages;
}

/** A DNS subdomain: most objects. */
export function validateDns1123Subdomain(name: string): string[] {
  const messages = exceeds(name, maxSubdomainLength) ? [tooLong(maxSubdomainLength, 'characters')] : [];
  if (!subdomainPattern.test(name)) messages.push(subdomainMessage);
  return messages;
}

/** `[<DNS subdomain>/]<name>`: keys of labels and annotations, finalizers. */
export function validateQualifiedName(name: string): string[] {
  const slash = name.indexOf('/');
  let local = name;
  const messages: string[] = [];
  if (slash >= 0) {
    if (name.includes('/', slash + 1)) {
      return [
        `a valid label key ${qualifiedNameMessage} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
      ];
    }
    local = name.slice(slash + 1);
    const prefix = name.slice(0, slash);
    if (prefix === '') {
      messages.push('prefix part must be non-empty');
    } else {
      if (exceeds(prefix, maxSubdomainLength)) messages.push(`prefix part ${tooLong(maxSubdomainLength, 'bytes')}`);
      if (!subdomainPattern.test(prefix)) messages.push(`prefix part ${subdomainMessage}`);
    }
  }
  if (local === '') messages.push('name part must be non-empty');
  else if (exceeds(local, maxLabelLength)) messages.push(`name part ${tooLong(maxLabelLength, 'bytes')}`);
  if (!qualifiedNamePattern.test(local)) messages.push(`name part ${qualifiedNameMessage}`);
  return messages;
}

/** The value of a label; may be empty. */
export function validateLabelValue(value: string): string[] {
  const messages = exceeds(value, maxLabelLength) ? [tooLong(maxLabelLength, 'bytes')] : [];
  if (!labelValuePattern.test(value)) messages.push(labelValueMessage);
  return messages;
}

/** A name that can stand in a URL as one segment: RBAC, and the last resort for every other kind. */
export function validatePathSegmentName(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((char) => name.includes(char)).map((char) => `may not contain '${char}'`);
}

/** A key of a ConfigMap's or a Secret's data. */
export function validateConfigMapKey(key: string): string[] {
  const messages = exceeds(key, maxSubdomainLength) ? [tooLong(maxSubdomainLength, 'characters')] : [];
  if (!configMapKeyPattern.test(key)) messages.push(configMapKeyMessage);
  else if (key === '.' || key === '..') messages.push(`must not be '${key}'`);
  else if (key.startsWith('..')) messages.push(`must not start with '..'`);
  return messages;
}

/** What a check of a `generateName` is given: a trailing dash counts as a letter, because something will follow it. */
export function maskTrailingDash(name: string): string {
  return name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name;
}

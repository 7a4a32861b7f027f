const rfc3339 = '2006-01-02T15:04:05Z07:00';
const rfc3339Micro = '2006-01-02T15:04:05.000000Z07:00';

/** One part of Go's layouts: how it is written, what it takes, and how its number is called when it is out of range. */
interface Part {
  readonly layout: string;
  readonly takes: RegExp;
  readonly range?: readonly [name: string, from: number, to: number];
}

const separator = (layout: string): Part => ({ layout, takes: new RegExp(`^${layout}`) });
const twoDigits = /^\d\d/;
const upToSeconds: readonly Part[] = [
  { layout: '2006', takes: /^\d{4}/ },
  separator('-'),
  { layout: '01', takes: twoDigits, range: ['month', 1, 12] },
  separator('-'),
  { layout: '02', takes: twoDigits },
  separator('T'),
  { layout: '15', takes: /^\d\d?/, range: ['hour', 0, 23] },
  separator(':'),
  { layout: '04', takes: twoDigits, range: ['minute', 0, 59] },
  separator(':'),
];
const second = { layout: '05', range: ['second', 0, 59] } as const;
const zone: Part = { layout: 'Z07:00', takes: /^(?:Z|[+-]\d\d:\d\d)/ };
const parts: readonly Part[] = [...upToSeconds, { ...second, takes: /^\d\d(?:[.,]\d+)?/ }, zone];
const microParts: readonly Part[] = [
  ...upToSeconds,
  { ...second, takes: twoDigits },
  { layout: '.000000', takes: /^[.,]\d{6}/ },
  zone,
];

/** What Go's time.Parse says of a text that is no metav1.Time (or MicroTime): where it stopped reading, and for what. */
export function goTimeError(text: string, micro = false): string {
  const said = `parsing time ${quoteTime(text)}`;
  const layout = micro ? rfc3339Micro : rfc3339;
  let rest = text;
  for (const { layout: element, takes, range } of micro ? microParts : parts) {
    const [taken] = takes.exec(rest) ?? [];
    if (taken === undefined)
      return `${said} as ${quoteTime(layout)}: cannot parse ${quoteTime(rest)} as ${quoteTime(element)}`;
    rest = rest.slice(taken.length);
    const number = Number.parseInt(taken, 10);
    if (range !== undefined && (number < range[1] || number > range[2])) return `${said}: ${range[0]} out of range`;
  }
  return rest === '' ? `${said}: day out of range` : `${said}: extra text: ${quoteTime(rest)}`;
}

/** As Go's package time quotes: bytes that are not ASCII in hexadecimal. */
function quoteTime(text: string): string {
  const quoted = text.replaceAll(/["\\]|[^ -\u007f]/gu, (char) =>
    char === '"' || char === '\\'
      ? `\\${char}`
      : [...Buffer.from(char)].map((byte) => String.raw`\x${byte.toString(16).padStart(2, '0')}`).join(''),
  );
  return `"${quoted}"`;
}

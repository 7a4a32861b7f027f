import { CelError } from './cel-error.ts';
import { CelDuration, CelTimestamp } from './values.ts';

const second = 1_000_000_000n;
const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: second,
  m: 60n * second,
  h: 3600n * second,
};
/** The first and last second a timestamp may name: years 1 to 9999. */
const minSeconds = -62_135_596_800n;
const maxSeconds = 253_402_300_799n;

export function timestampOf(nanos: bigint, zone = 0): CelTimestamp {
  const seconds = nanos >= 0n ? nanos / second : -((-nanos + second - 1n) / second);
  if (seconds < minSeconds || seconds > maxSeconds) throw new CelError('timestamp overflow');
  return new CelTimestamp(nanos, zone);
}

export function durationOf(nanos: bigint): CelDuration {
  if (nanos >= 2n ** 63n || nanos < -(2n ** 63n)) throw new CelError('integer overflow');
  return new CelDuration(nanos);
}

/** Go's `time.ParseDuration`: `1h30m`, `-1.5s`. */
export function parseDuration(text: string): CelDuration {
  const invalid = (): CelError => new CelError(`time: invalid duration ${JSON.stringify(text)}`);
  const negative = text.startsWith('-');
  const body = /^[-+]/.test(text) ? text.slice(1) : text;
  if (body === '0') return new CelDuration(0n);
  if (body === '' || body.length > 200) throw invalid();
  let nanos = 0n;
  let at = 0;
  while (at < body.length) {
    const part = /^([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/.exec(body.slice(at));
    if (part === null || `${part[1]}${part[2] ?? ''}` === '') throw invalid();
    const unit = units[part[3] as string] as bigint;
    const fraction = part[2] ?? '';
    nanos += BigInt(part[1] === '' ? 0 : (part[1] as string)) * unit;
    if (fraction !== '') nanos += (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length);
    at += part[0].length;
  }
  if (nanos > 2n ** 63n - 1n + (negative ? 1n : 0n)) throw invalid();
  return new CelDuration(negative ? -nanos : nanos);
}

const words: readonly (readonly [string, bigint])[] = [
  ['nano', 1n],
  ['micro', 1_000n],
  ['milli', 1_000_000n],
  ['sec', second],
  ['min', 60n * second],
  ['hour', 3600n * second],
  ['hr', 3600n * second],
  ['day', 86_400n * second],
  ['d', 86_400n * second],
  ['week', 604_800n * second],
  ['wk', 604_800n * second],
  ['w', 604_800n * second],
];

/** A duration as the format `duration` allows it: Go's, or numbers with units in words (`2 weeks`). */
export function parseLooseDuration(text: string): CelDuration {
  let nanos = 0n;
  let known = false;
  if (!/^[-+]?(?:[0-9.]+(?:ns|us|µs|μs|ms|s|m|h))+$|^[-+]?0$/.test(text)) {
    for (const [, count, unit = ''] of text.matchAll(/(?<!\d)(\d{1,18})\s*([A-Za-zµ]+)/g)) {
      const name = unit.toLowerCase();
      const size = units[name] ?? words.find(([word]) => name.startsWith(word))?.[1];
      if (size === undefined) continue;
      known = true;
      nanos += BigInt(count as string) * size;
    }
  }
  return known ? durationOf(nanos) : parseDuration(text);
}

/** RFC 3339, with up to nine places of a second. */
export function parseTimestamp(text: string): CelTimestamp {
  const match = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,30}))?(Z|[+-]\d{2}:\d{2})$/.exec(text);
  const invalid = (): CelError => new CelError(`parsing time ${JSON.stringify(text)}: cannot parse as RFC 3339`);
  if (match === null) throw invalid();
  const [year, month, day, hour, minute, sec] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, sec);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day || hour > 23 || minute > 59 || sec > 59)
    throw invalid();
  const zone = match[8] as string;
  let seconds = BigInt(date.getTime()) / 1000n;
  let offset = 0;
  if (zone !== 'Z') {
    const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4))];
    if (hours > 23 || minutes > 59) throw invalid();
    offset = (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
    seconds -= BigInt(offset * 60);
  }
  return timestampOf(seconds * second + BigInt((match[7] ?? '').padEnd(9, '0').slice(0, 9)), offset);
}

/** A timestamp as `string` and RFC 3339 print it, in the zone that it was written with. */
export function timestampText(time: CelTimestamp): string {
  const { seconds, nanos } = split(time.nanos);
  const base = new Date((Number(seconds) + time.zone * 60) * 1000).toISOString().slice(0, 19);
  return `${base}${fractionText(nanos)}${zoneText(time.zone)}`;
}
function zoneText(zone: number): string {
  if (zone === 0) return 'Z';
  const size = Math.abs(zone);
  const [hours, minutes] = [Math.floor(size / 60), size % 60].map((part) => String(part).padStart(2, '0'));
  return `${zone < 0 ? '-' : '+'}${hours}:${minutes}`;
}

/** A duration as `string` prints it: the double that is nearest to its seconds, without an exponent. */
export function durationText({ nanos }: CelDuration): string {
  const seconds = Number(nanos / second) + Number(nanos % second) / 1e9;
  const text = String(seconds);
  return `${text.includes('e') ? seconds.toFixed(20).replace(/\.?0+$/, '') : text}s`;
}

/** A duration as protobuf writes it to JSON: seconds with an exact fraction. */
export function exactDurationText(duration: CelDuration): string {
  const negative = duration.nanos < 0n;
  const nanos = negative ? -duration.nanos : duration.nanos;
  return `${negative ? '-' : ''}${nanos / second}${fractionText(nanos % second)}s`;
}

const fractionText = (nanos: bigint): string =>
  nanos === 0n ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;

/** Whole seconds, rounded down, and what is over. */
function split(nanos: bigint): { seconds: bigint; nanos: bigint } {
  const over = ((nanos % second) + second) % second;
  return { seconds: (nanos - over) / second, nanos: over };
}
export const unixSeconds = (time: CelTimestamp): bigint => split(time.nanos).seconds;

/** A timestamp in a time zone: `UTC`, `Europe/Berlin` or `+02:00`. Its UTC getters then show the local time. */
export function inZone(time: CelTimestamp, zone: string): Date & { readonly millis: number } {
  const { seconds, nanos } = split(time.nanos);
  const utc = Number(seconds) * 1000;
  const date = new Date(utc + zoneOffset(utc, zone)) as Date & { millis: number };
  date.millis = Number(nanos / 1_000_000n);
  return date;
}

/** Milliseconds to add to UTC. */
function zoneOffset(utc: number, zone: string): number {
  if (zone === 'UTC' || zone === '' || zone === 'Local') return 0;
  const fixed = /^([+-]?)(\d{1,2}):(\d{2})$/.exec(zone);
  if (fixed !== null) return (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3])) * 60_000;
  if (zone.includes('\0')) throw new CelError('invalid argument');
  if (/^[+-]/.test(zone)) throw new CelError(`unknown time zone ${zone}`);
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
    const name = format.formatToParts(utc).find((part) => part.type === 'timeZoneName')?.value ?? '';
    const match = /GMT([+-])(\d{2}):(\d{2})(?::(\d{2}))?/.exec(name);
    if (match === null) return 0;
    const seconds = (Number(match[2]) * 60 + Number(match[3])) * 60 + Number(match[4] ?? 0);
    return (match[1] === '-' ? -1 : 1) * seconds * 1000;
  } catch (error) {
    throw new CelError(`unknown time zone ${zone}`, { cause: error });
  }
}

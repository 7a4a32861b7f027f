const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;
const microRfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)$/;

/** metav1.Time as it is written: whole seconds, UTC. */
export function formatTime(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** metav1.MicroTime as it is written: six digits, UTC. The clock has milliseconds only. */
export function formatMicroTime(time: Date): string {
  return `${time.toISOString().slice(0, 23)}000Z`;
}

/** Microseconds since 1970 as metav1.MicroTime. */
export function formatMicros(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000);
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(micros - seconds * 1_000_000).padStart(6, '0')}Z`;
}

/**
 * Whole seconds since 1970, from year 1 to year 9999, as metav1.Time. Several times faster than a Date, for bodies that
 * are full of times. The days are counted in 400-year cycles of years that begin in March, so that leap days come last.
 */
export function formatUnixSeconds(seconds: number): string {
  const day = Math.floor(seconds / 86_400);
  const second = seconds - day * 86_400;
  const since = day + 719_468;
  const cycle = Math.floor(since / 146_097);
  const inCycle = since - cycle * 146_097;
  const year = Math.floor(
    (inCycle - Math.floor(inCycle / 1460) + Math.floor(inCycle / 36_524) - Math.floor(inCycle / 146_096)) / 365,
  );
  const inYear = inCycle - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const fromMarch = Math.floor((5 * inYear + 2) / 153);
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9;
  const dayOfMonth = inYear - Math.floor((153 * fromMarch + 2) / 5) + 1;
  const fullYear = year + cycle * 400 + (month <= 2 ? 1 : 0);
  const hour = Math.floor(second / 3600);
  const minute = Math.floor(second / 60) - hour * 60;
  return `${twoDigits[Math.floor(fullYear / 100)]}${twoDigits[fullYear % 100]}-${twoDigits[month]}-${twoDigits[dayOfMonth]}T${twoDigits[hour]}:${twoDigits[minute]}:${twoDigits[second % 60]}Z`;
}

const twoDigits = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'));

/** Reads RFC 3339 in any offset, fractions cut to milliseconds; undefined for anything else. */
export function parseTime(text: string): Date | undefined {
  const micros = parseMicros(text);
  return micros === undefined ? undefined : new Date(Math.floor(micros / 1000));
}

/** Microseconds since 1970; the text must have exactly six digits of a second, as Kubernetes wants them. */
export function parseMicroTime(text: string): number | undefined {
  return microRfc3339.test(text) ? parseMicros(text) : undefined;
}

/** How a metav1.Time in a body is stored: seconds, UTC. Undefined when the text is no time. */
export function canonicalTime(text: string): string | undefined {
  const time = parseTime(text);
  return time === undefined ? undefined : formatTime(time);
}

/** How a metav1.MicroTime in a body is stored. Undefined when the text is no such time. */
export function canonicalMicroTime(text: string): string | undefined {
  const micros = parseMicroTime(text);
  return micros === undefined ? undefined : formatMicros(micros);
}

/** Microseconds since 1970 of RFC 3339 in any offset; undefined for anything else. */
export function parseMicros(text: string): number | undefined {
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', zone = 'Z'] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const midnight = new Date(0);
  midnight.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  // February 30th would have rolled over.
  if (midnight.getUTCMonth() !== Number(month) - 1 || midnight.getUTCDate() !== Number(day)) return undefined;
  let offset = 0;
  if (zone !== 'Z') {
    const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4))];
    if (hours > 23 || minutes > 59) return undefined;
    offset = (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
  }
  const seconds = midnight.getTime() / 1000 + Number(hour) * 3600 + (Number(minute) - offset) * 60 + Number(second);
  return seconds * 1_000_000 + Number(fraction.slice(0, 6).padEnd(6, '0'));
}

/** A duration as `kubectl get` shows ages: `45s`, `3m5s`, `2h`, `5d3h`, `2y14d`. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return withRest(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return `${days}d`;
  const years = Math.floor(days / 365);
  if (years < 8) return withRest(years, 'y', days % 365, 'd');
  return `${years}y`;
}

const withRest = (count: number, unit: string, rest: number, restUnit: string): string =>
  rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${restUnit}`;

/** The age of an object in a table: `<unknown>` without a timestamp. */
export function ageSince(timestamp: string | undefined, now: Date): string {
  const time = timestamp === undefined ? undefined : parseTime(timestamp);
  return time === undefined ? '<unknown>' : humanDuration(now.getTime() - time.getTime());
}

/** The time since `from` as kubectl writes it: `45s`, `12m`, `5h12m`, `3d4h`, `200d`, `3y20d`. */
export function ageText(from: string, now: number): string {
  const at = Date.parse(from);
  if (Number.isNaN(at)) return 'unknown';
  const seconds = Math.max(0, Math.floor((now - at) / 1000));
  const pair = (big: number, bigUnit: string, small: number, smallUnit: string): string =>
    small === 0 ? `${big}${bigUnit}` : `${big}${bigUnit}${small}${smallUnit}`;
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return pair(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  return pair(Math.floor(days / 365), 'y', days % 365, 'd');
}

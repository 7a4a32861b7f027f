/** A float64 as Go prints it with `%v`: plain where the exponent is -4 to 5, else with an exponent of at least two digits. */
export function goFloat(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const [mantissa, exponent] = value.toExponential().split('e') as [string, string];
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** A number of an untyped object as Go prints it with `%v`: an int64, or else a float64. */
export const goNumeric = (value: number | bigint): string =>
  (typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value))
    ? String(value)
    : goFloat(Number(value));

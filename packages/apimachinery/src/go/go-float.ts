/** A float64 as Go prints it with `%v`: plain where the exponent is -4 to 5, else with an exponent of at least two digits. */
export function goFloat(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const [mantissa, exponent] = value.toExponential().split('e') as [string, string];
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** Polynomial of CRC-32 (RFC 1952), reflected. */
const polynomial = 0xedb88320;

/** The product of two polynomials modulo {@link polynomial}. */
function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = 0x80000000, factor = b; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= factor;
    factor = (factor & 1) === 0 ? factor >>> 1 : (factor >>> 1) ^ polynomial;
  }
  return product;
}

/** x^(2^n), at index n. */
const squares: number[] = [0x40000000];
for (let n = 1; n < 32; n++) squares.push(multiply(squares[n - 1] as number, squares[n - 1] as number));

/** x^(8 * length): by what the CRC-32 of a text is multiplied when `length` bytes follow it. */
export function crc32Shift(length: number): number {
  let shift = 0x80000000;
  // Bit n of the length stands for x^(2^(n + 3)); exponents repeat with a period of 2^32 - 1.
  for (let rest = length, n = 3; rest > 0; rest = Math.floor(rest / 2), n++)
    if (rest % 2 === 1) shift = multiply(squares[n % 32] as number, shift);
  return shift;
}

/** The CRC-32 of two texts together, from that of each and {@link crc32Shift} of the length of the second one. */
export function combineCrc32(first: number, second: number, secondShift: number): number {
  return (multiply(secondShift, first) ^ second) >>> 0;
}

import { createHash } from 'node:crypto';

const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

function inBase(bytes: Buffer, base: number): string {
  let text = '';
  for (let rest = BigInt(`0x${bytes.toString('hex')}`); rest > 0n; rest /= BigInt(base))
    text = (digits[Number(rest % BigInt(base))] as string) + text;
  return text;
}

const hash = (name: string, text: string): Buffer => createHash(name).update(text).digest();

const computations: Readonly<Record<string, (text: string) => string>> = {
  base62sha224: (text) => inBase(hash('sha224', text), 62),
  base36sha224: (text) => inBase(hash('sha224', text), 36),
  sha224: (text) => hash('sha224', text).toString('hex'),
  sha256: (text) => hash('sha256', text).toString('hex'),
  // Suffix of generated names of bindings: base 36 of a SHA-224.
  base62sha224lower5: (text) => inBase(hash('sha224', text), 62).slice(0, 5).toLowerCase(),
  text: (text) => text,
};

/** The value of `<function>:<text>`: labels and names that kcp derives by hashing are compared by what they must be. */
export function computed(what: string): string {
  const end = what.indexOf(':');
  const compute = computations[what.slice(0, end)];
  if (compute === undefined) throw new Error(`no such computation: ${what}`);
  return compute(what.slice(end + 1));
}

import { CelError } from './cel-error.ts';
import { declare, type Overload } from './function-declaration.ts';
import { opaqueType } from './types.ts';
import { CelOpaque, type CelValue } from './values.ts';

const semverType = opaqueType('kubernetes.Semver');
const numeric = /^(?:0|[1-9][0-9]*)$/;
const alphanumeric = /^[0-9A-Za-z-]+$/;

class CelSemver extends CelOpaque {
  override readonly type = semverType;
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly pre: readonly string[];
  constructor(numbers: readonly [bigint, bigint, bigint], pre: readonly string[]) {
    super();
    this.numbers = numbers;
    this.pre = pre;
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelSemver && this.compare(other) === 0;
  }
  /** Semantic Versioning 2.0.0, §11. */
  compare(other: CelSemver): number {
    for (const index of [0, 1, 2] as const) {
      const [a, b] = [this.numbers[index], other.numbers[index]];
      if (a !== b) return a < b ? -1 : 1;
    }
    if (this.pre.length === 0 || other.pre.length === 0) return Math.sign(other.pre.length - this.pre.length);
    for (let index = 0; index < Math.min(this.pre.length, other.pre.length); index++) {
      const order = comparePart(this.pre[index] as string, other.pre[index] as string);
      if (order !== 0) return order;
    }
    return Math.sign(this.pre.length - other.pre.length);
  }
}

function comparePart(a: string, b: string): number {
  if (a === b) return 0;
  const [numberA, numberB] = [numeric.test(a), numeric.test(b)];
  if (numberA && numberB) return BigInt(a) < BigInt(b) ? -1 : 1;
  if (numberA !== numberB) return numberA ? -1 : 1;
  return a < b ? -1 : 1;
}

/** Reads a version; a text says what is wrong with it, in the words and the order of blang/semver. */
function parseSemver(text: string): CelSemver | string {
  if (text === '') return 'Version string empty';
  const [major, minor, ...others] = text.split('.');
  if (major === undefined || minor === undefined || others.length === 0) return 'No Major.Minor.Patch elements found';
  const [, patch = '', prerelease, build] = /^([^+-]*)(?:-([^+]*))?(?:\+([^]*))?$/.exec(others.join('.')) ?? [];
  for (const [name, number] of [
    ['major', major],
    ['minor', minor],
    ['patch', patch],
  ] as const) {
    if (!/^[0-9]*$/.test(number)) return `Invalid character(s) found in ${name} number ${JSON.stringify(number)}`;
    const capitalized = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    if (/^0./.test(number)) return `${capitalized} number must not contain leading zeroes ${JSON.stringify(number)}`;
    if (number === '') return 'strconv.ParseUint: parsing "": invalid syntax';
    if (number.length > 20 || BigInt(number) >= 2n ** 64n)
      return `strconv.ParseUint: parsing "${number}": value out of range`;
  }
  const pre = prerelease?.split('.') ?? [];
  for (const part of pre) {
    if (part === '') return 'Prerelease is empty';
    if (/^0[0-9]+$/.test(part))
      return `Numeric PreRelease version must not contain leading zeroes ${JSON.stringify(part)}`;
    if (!alphanumeric.test(part)) return `Invalid character(s) found in prerelease ${JSON.stringify(part)}`;
  }
  for (const part of build?.split('.') ?? []) {
    if (part === '') return 'Build meta data is empty';
    if (!alphanumeric.test(part)) return `Invalid character(s) found in build meta data ${JSON.stringify(part)}`;
  }
  return new CelSemver([BigInt(major), BigInt(minor), BigInt(patch)], pre);
}

/** Drops a `v` in front and leading zeros, adds what is missing of major.minor.patch. */
function normalize(text: string): string {
  const parts = text.replace(/^v/, '').split('.');
  const three = parts.length > 3 ? [...parts.slice(0, 2), parts.slice(2).join('.')] : parts;
  const plain = three.map((part) => {
    if (part.length <= 1) return part;
    const stripped = part.replace(/^0+/, '');
    return /^[0-9]/.test(stripped) ? stripped : `0${stripped}`;
  });
  const last = plain.at(-1) ?? '';
  if (plain.length < 3 && /[+-]/.test(last)) return text;
  while (plain.length < 3) plain.push('0');
  return plain.join('.');
}

function semver(text: string, normalized: boolean): CelSemver {
  const parsed = parseSemver(normalized ? normalize(text) : text);
  if (typeof parsed === 'string') throw new CelError(parsed);
  return parsed;
}
const isSemver = (text: string, normalized: boolean): boolean =>
  typeof parseSemver(normalized ? normalize(text) : text) !== 'string';

const read = (name: string, index: 0 | 1 | 2): Overload =>
  declare(name, `semver_${name}`, 'kubernetes.Semver.() int', (value) =>
    BigInt.asIntN(64, (value as CelSemver).numbers[index]),
  );
const pair = (name: string, id: string, result: string, apply: (order: number) => CelValue): Overload =>
  declare(name, id, `kubernetes.Semver.(kubernetes.Semver) ${result}`, (a, b) =>
    apply((a as CelSemver).compare(b as CelSemver)),
  );

/** Kubernetes' functions of semantic versions, version 1. */
export const semverLibrary: readonly Overload[] = [
  declare('semver', 'string_to_semver', '(string) kubernetes.Semver', (text) => semver(text as string, false)),
  declare('semver', 'string_bool_to_semver', '(string, bool) kubernetes.Semver', (text, normalized) =>
    semver(text as string, normalized as boolean),
  ),
  declare('isSemver', 'is_semver_string', '(string) bool', (text) => isSemver(text as string, false)),
  declare('isSemver', 'is_semver_string_bool', '(string, bool) bool', (text, normalized) =>
    isSemver(text as string, normalized as boolean),
  ),
  pair('isGreaterThan', 'semver_is_greater_than', 'bool', (order) => order > 0),
  pair('isLessThan', 'semver_is_less_than', 'bool', (order) => order < 0),
  pair('compareTo', 'semver_compare_to', 'int', (order) => BigInt(order)),
  read('major', 0),
  read('minor', 1),
  read('patch', 2),
];

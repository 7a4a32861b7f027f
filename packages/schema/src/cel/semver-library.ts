import { CelError } from './cel-error.ts';
import { declare, type Overload } from './function-declaration.ts';
import { opaqueType } from './types.ts';
import { CelOpaque, type CelValue } from './values.ts';

const semverType = opaqueType('kubernetes.Semver');
const numeric = /^(?:0|[1-9][0-9]*)$/;
const pattern = /^([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9A-Za-z.-]*))?(?:\+([0-9A-Za-z.-]*))?$/;

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

function parseSemver(text: string): CelSemver | string {
  const match = text.length > 256 ? null : pattern.exec(text);
  if (match === null) {
    if (text === '') return 'Version string empty';
    return text.split('.').length < 3 ? 'No Major.Minor.Patch elements found' : 'Invalid character(s) found in version';
  }
  const numbers = match.slice(1, 4) as [string, string, string];
  const padded = numbers.find((part) => !numeric.test(part));
  if (padded !== undefined) return `Version number must not contain leading zeroes "${padded}"`;
  const pre = match[4]?.split('.') ?? [];
  if (pre.some((part) => part === '' || (/^[0-9]+$/.test(part) && !numeric.test(part))))
    return 'Invalid prerelease version';
  if (match[5]?.split('.').includes('') === true) return 'Build meta data is empty';
  return new CelSemver([BigInt(numbers[0]), BigInt(numbers[1]), BigInt(numbers[2])], pre);
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
  declare(name, `semver_${name}`, 'kubernetes.Semver.() int', (value) => (value as CelSemver).numbers[index]);
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

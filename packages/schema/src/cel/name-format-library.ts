import {
  maskTrailingDash,
  validateDns1035Label,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validateQualifiedName,
} from '@multiplane/apimachinery';
import { formatOf } from '../formats.ts';
import { declare, type Overload } from './function-declaration.ts';
import { opaqueType } from './types.ts';
import { CelOpaque, CelOptional, optionalNone } from './values.ts';
import { urlProblem } from './url-library.ts';

const formatType = opaqueType('kubernetes.NamedFormat');

export class CelFormat extends CelOpaque {
  override readonly type = formatType;
  readonly check: (text: string) => readonly string[];
  /** Characters of the pattern that its check costs as much as. */
  readonly patternSize: number;
  constructor(check: (text: string) => readonly string[], patternSize: number) {
    super();
    this.check = check;
    this.patternSize = patternSize;
  }
  override equals(other: CelOpaque): boolean {
    return other === this;
  }
}

const prefix =
  (check: (text: string) => string[]) =>
  (text: string): string[] =>
    check(maskTrailingDash(text));
const known =
  (format: string, problem: string) =>
  (text: string): string[] =>
    formatOf(format, 'string')?.check?.(text) === true ? [] : [problem];

const formats = new Map<string, CelFormat>([
  ['dns1123Label', new CelFormat(validateDns1123Label, 30)],
  ['dns1123Subdomain', new CelFormat(validateDns1123Subdomain, 60)],
  ['dns1035Label', new CelFormat(validateDns1035Label, 30)],
  ['qualifiedName', new CelFormat(validateQualifiedName, 60)],
  ['dns1123LabelPrefix', new CelFormat(prefix(validateDns1123Label), 30)],
  ['dns1123SubdomainPrefix', new CelFormat(prefix(validateDns1123Subdomain), 60)],
  ['dns1035LabelPrefix', new CelFormat(prefix(validateDns1035Label), 30)],
  ['labelValue', new CelFormat(validateLabelValue, 40)],
  ['uri', new CelFormat((text) => [urlProblem(text)].filter((problem) => problem !== undefined), 500)],
  ['uuid', new CelFormat(known('uuid', 'does not match the UUID format'), 80)],
  ['byte', new CelFormat(known('byte', 'invalid base64'), 84)],
  ['date', new CelFormat(known('date', 'invalid date'), 100)],
  ['datetime', new CelFormat(known('date-time', 'invalid datetime'), 100)],
]);

/** Kubernetes' named formats. */
export const nameFormatLibrary: readonly Overload[] = [
  ...[...formats].map(([name, format]) =>
    declare(`format.${name}`, `format.${name}`, '() kubernetes.NamedFormat', () => format),
  ),
  declare('format.named', 'format-named', '(string) optional(kubernetes.NamedFormat)', (name) => {
    const format = formats.get(name as string);
    return format === undefined ? optionalNone : new CelOptional(format);
  }),
  declare('validate', 'format-validate', 'kubernetes.NamedFormat.(string) optional(list(string))', (format, text) => {
    const problems = (format as CelFormat).check(text as string);
    return problems.length === 0 ? optionalNone : new CelOptional([...problems]);
  }),
];

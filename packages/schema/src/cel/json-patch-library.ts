import { declare, type Overload } from './function-declaration.ts';

/** Functions of mutating admission policies: keys as parts of a JSON pointer (RFC 6901). */
export const jsonPatchLibrary: readonly Overload[] = [
  declare('jsonpatch.escapeKey', 'string_jsonpatch_escapeKey_string', '(string) string', (key) =>
    (key as string).replaceAll('~', '~0').replaceAll('/', '~1'),
  ),
];

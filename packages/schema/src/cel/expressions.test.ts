import { describe, expect, test } from '@jest/globals';
import { kubernetesEnvironment } from './kubernetes-environment.ts';
import { compileExpression } from './program.ts';
import { plainValue } from './schema-value.ts';
import { dynType, intType, listType, mapType, stringType } from './types.ts';
import type { CelValue } from './values.ts';

const environment = kubernetesEnvironment({
  n: intType,
  s: stringType,
  l: listType(intType),
  m: mapType(stringType, intType),
  d: dynType,
});
const variables: Record<string, CelValue> = {
  n: 5n,
  s: 'Text',
  l: [3n, 1n, 2n],
  m: plainValue({ a: 1, b: 2 }),
  d: plainValue({ x: { y: [1, 'two'] } }),
};

function run(source: string): CelValue | Error {
  const outcome = compileExpression(source, environment).evaluate(variables);
  return outcome.error ?? outcome.value;
}
function complaint(source: string): string {
  try {
    compileExpression(source, environment);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('expressions', () => {
  test.each([
    'n + 1 == 6 && n * 2 > 9 && -n < 0',
    "s.startsWith('T') && s.matches('^T.xt$') && s.size() == 4",
    'l.all(x, x > 0) && l.exists(x, x == 3) && l.exists_one(x, x == 1)',
    'l.map(x, x * 2) == [6, 2, 4] && l.filter(x, x > 1) == [3, 2]',
    'm.all(k, v, v < 3) && m.transformList(k, v, v) == [1, 2]',
    "m.transformMap(k, v, v + 1) == {'a': 2, 'b': 3}",
    "m[?'c'].orValue(9) == 9 && m.?a.hasValue() && m.?c.optMap(x, x + 1).orValue(0) == 0",
    "d.x.y[1] == 'two' && has(d.x) && !has(d.z)",
    'l.sort() == [1, 2, 3] && l.sum() == 6 && l.min() == 1 && [[1], [2]].flatten() == [1, 2]',
    "['b', 'a'].sortBy(x, x) == ['a', 'b'] && lists.range(3) == [0, 1, 2]",
    "'%s-%d'.format([s, 5]) == 'Text-5' && ['a', 'b'].join('-') == 'a-b'",
    "'abc'.charAt(1) == 'b' && 'a,b'.split(',') == ['a', 'b'] && ' x '.trim() == 'x'",
    "s.find('[a-z]+') == 'ext' && 'a1b2'.findAll('[0-9]') == ['1', '2']",
    "url('https://h:1/p?q=1').getHost() == 'h:1' && url('https://[::1]:80/a').getHostname() == '::1'",
    "quantity('1Ki').asInteger() == 1024 && quantity('1').isLessThan(quantity('2k'))",
    "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.1.1')",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && string(ip('0:0::1')) == '::1'",
    "!has(dyn(null).a) && 'x'.indexOf('a', 99) == -1 && 'x'.lastIndexOf('x', 99) == -1",
    "semver('1.2.3').isLessThan(semver('1.10.0')) && isSemver('v1.2', true)",
    "format.dns1123Label().validate('Bad').hasValue() && !format.dns1123Label().validate('ok').hasValue()",
    'sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1])',
    "duration('1h').getHours() == 1 && timestamp('2024-01-02T03:04:05Z').getHours('+02:00') == 5",
    'type(n) == int && type([]) == list && 1.0 < 2 && 3u > 2',
    '(1 / 0 > 0) || true',
    "b'\\xff' != b'' && r'\\d' == '\\\\d'",
  ])('%s', (source) => {
    expect(run(source)).toBe(true);
  });

  test.each([
    ['m.c', 'no such key: c'],
    ['l[5]', 'index out of bounds: 5'],
    ['1 / 0', 'division by zero'],
    ['1 % 0', 'modulus by zero'],
    ['9223372036854775807 + 1', 'integer overflow'],
    ['0u - 1u', 'unsigned integer overflow'],
    ['optional.none().value()', 'optional.none() dereference'],
    ['d.x + 1', 'no such overload: _+_'],
    ['[].min() == 1', 'min called on empty list'],
    ['dyn(null).a == 1', 'no such key: a'],
    ["dyn('x').a == 1", 'no such key: a'],
    ["dyn('x').all(y, y == 1)", "got 'types.String', expected iterable type"],
    ["int('x') > 0", "type conversion error from 'string' to 'int'"],
    [
      "timestamp(s) > timestamp('2020-01-01T00:00:00Z')",
      "type conversion error from 'string' to 'google.protobuf.Timestamp'",
    ],
    ["duration(n) > duration('1s')", "type conversion error from 'int' to 'google.protobuf.Duration'"],
    [
      "('%' + 'b').format([s])",
      'error during formatting: only integers and bools can be formatted as binary, was given string',
    ],
    [
      "('%' + '.').format([1])",
      'could not parse formatting clause: error while parsing precision: could not find end of precision specifier',
    ],
    ["('%' + 's').format([])", 'index 0 out of range'],
    ["duration(s) > duration('1s')", "type conversion error from 'string' to 'google.protobuf.Duration'"],
    ["'x'.substring(2, 1) == ''", 'invalid substring range. start: 2, end: 1'],
    ["'x'.indexOf('a', -1) == 1", 'index out of range: -1'],
    ["semver('127.0.0.1').major() == 1", 'Invalid character(s) found in patch number "0.1"'],
    ["semver('01.0.0').major() == 1", 'Major number must not contain leading zeroes "01"'],
    ["semver('1.0.0-01').major() == 1", 'Numeric PreRelease version must not contain leading zeroes "01"'],
  ])('%s fails: %s', (source, message) => {
    const result = run(source);
    expect(result).toBeInstanceOf(Error);
    expect((result as Error).message).toBe(message);
  });

  test.each([
    "'x'.replace('', '%s'.format([lists.range(100000)])).replace('', '%s'.format([lists.range(100000)]))",
    'lists.range(20000).map(x, dyn(x)).distinct().size() > 0',
    "lists.range(50000).map(x, 'x').join('%s'.format([lists.range(10000)])) == ''",
    "['%s'.format([lists.range(90000)])].map(t, '%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s'.format([t,t,t,t,t,t,t,t,t,t,t,t,t,t,t,t,t,t,t,t])).size() == 1",
  ])('no more is made than is paid for: %s', (source) => {
    expect((run(source) as Error).message).toBe('operation cancelled: actual cost limit exceeded');
  });

  test.each([
    // What costs nothing for cel-go takes time all the same.
    'lists.range(1000).filter(x, lists.range(1000).filter(y, false).size() > 0).size() >= 0',
    '[dyn(lists.range(100000))].map(r, lists.range(100).map(x, r.sort().size()).size()).size() > 0',
    '[lists.range(100000)].map(r, lists.range(100).map(x, (r + r).size()).size()).size() > 0',
  ])('work that costs little has a limit: %s', (source) => {
    expect((run(source) as Error).message).toBe('operation cancelled: actual cost limit exceeded');
  });

  test('an expression that costs too much is stopped', () => {
    const range = 'lists.range(1000)';
    const result = run(`${range}.all(a, ${range}.all(b, a + b >= 0))`);
    expect((result as Error).message).toBe('operation cancelled: actual cost limit exceeded');
  });
});

describe('complaints of the compiler', () => {
  test.each([
    ['x', "ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x\n | ^"],
    [
      's.startsWith(5)',
      "ERROR: <input>:1:13: found no matching overload for 'startsWith' applied to 'string.(int)'\n | s.startsWith(5)\n | ............^",
    ],
    [
      'n == s',
      "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, string)'\n | n == s\n | ..^",
    ],
    ["[1, 'a']", "ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^"],
    ['s.matches("(")', 'ERROR: <input>:1:11: invalid matches argument\n | s.matches("(")\n | ..........^'],
    [
      'n >',
      "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | n >\n | ...^",
    ],
    [
      'base64.encode(b"x")',
      "ERROR: <input>:1:1: undeclared reference to 'base64' (in container '')\n | base64.encode(b\"x\")\n | ^\nERROR: <input>:1:14: undeclared reference to 'encode' (in container '')\n | base64.encode(b\"x\")\n | .............^",
    ],
  ])('%s', (source, message) => {
    expect(complaint(source)).toBe(message);
  });

  const decimal = 'error during formatting: decimal clause can only be used on integers, was given';
  const text =
    'error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given';
  const clause = 'could not parse formatting clause:';
  const precision = `${clause} error while parsing precision:`;
  test.each([
    ["'%d'.format(['x'])", `1:14: ${decimal} string`],
    ["'%d'.format([null])", `1:14: ${decimal} null_type`],
    ["'%d'.format([l])", `1:14: ${decimal} list`],
    ["'%d'.format([duration('1s')])", `1:22: ${decimal} google.protobuf.Duration`],
    ["'%d'.format([?optional.of(1)])", `1:26: ${decimal} optional_type`],
    ["'%d'.format([n > 1 ? 'x' : 'y'])", `1:20: ${decimal} string`],
    ["'%s'.format([{'a': [1, optional.none()]}])", `1:37: ${text} optional_type`],
    ["'%s'.format([ip('1.2.3.4')])", `1:16: ${text} net.IP`],
    [
      "'%f'.format([1])",
      '1:14: error during formatting: fixed-point clause can only be used on doubles, was given int',
    ],
    ["'%e'.format([m])", '1:14: error during formatting: scientific clause can only be used on doubles, was given map'],
    [
      "'%b'.format(['x'])",
      '1:14: error during formatting: only integers and bools can be formatted as binary, was given string',
    ],
    [
      "'%o'.format(['x'])",
      '1:14: error during formatting: octal clause can only be used on integers, was given string',
    ],
    [
      "'%X'.format([true])",
      '1:14: error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given bool',
    ],
    ["'%d %d'.format([1])", '1:15: index 1 out of range'],
    ["'%d'.format([1, 2])", '1:12: too many arguments supplied to string.format (expected 1, got 2)'],
    ["'%%'.format([1])", '1:12: too many arguments supplied to string.format (expected 0, got 1)'],
    ["'%'.format([])", '1:11: unexpected end of string'],
    ["'%q'.format([1])", `1:12: ${clause} unrecognized formatting clause "q"`],
    ["'%é'.format([1])", `1:12: ${clause} unrecognized formatting clause "Ã"`],
    ["'%.3'.format([1.0])", `1:13: ${precision} could not find end of precision specifier`],
    [
      "'%.f'.format([1.0])",
      `1:13: ${precision} error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax`,
    ],
    [
      "'%.99999999999999999999f'.format([1.0])",
      `1:33: ${precision} error while converting precision to integer: strconv.Atoi: parsing "99999999999999999999": value out of range`,
    ],
    ["'%s %d'.format(['%d'.format(['x']), 'y'])", `1:30: ${decimal} string`, `1:37: ${decimal} string`],
    ["['%d'.format(['x']), 1]", `1:15: ${decimal} string`, "1:22: expected type 'string' but found 'int'"],
    [
      "{'a': 1, 2: 'x', 'c': true}",
      "1:10: expected type 'string' but found 'int'",
      "1:13: expected type 'int' but found 'string'",
      "1:23: expected type 'int' but found 'bool'",
    ],
    ['duration(5)', '1:10: invalid duration argument'],
    ['timestamp(253402300800)', '1:11: invalid timestamp argument'],
  ])('literals: %s', (source, ...messages) => {
    const reported = complaint(source).split('\n');
    expect(reported.filter((line) => line.startsWith('ERROR'))).toEqual(
      messages.map((message) => `ERROR: <input>:${message}`),
    );
  });

  test.each([
    "'%d'.format([d])",
    "'%f'.format(['NaN'])",
    "'%s'.format([[1, 'a']])",
    "'%s'.format([{'a': 1, 'b': 'x'}])",
    'timestamp(253402300799)',
    "['%d'].map(f, f.format(['x']))",
    "'%.2d %%'.format([1])",
  ])('accepted literals: %s', (source) => {
    expect(complaint(source)).toBe('');
  });

  test('what macros double is handled once', () => {
    const chain = `optional.of(n)${'.optMap(x, x + 1)'.repeat(60)}`;
    expect(complaint(chain)).toBe('');
    expect((run(chain) as Error).message).toBe('operation cancelled: actual cost limit exceeded');
  });

  test('thousands of complaints are cut', () => {
    expect(complaint('#'.repeat(50_000)).split('\n').length).toBeLessThan(400);
    expect(complaint(`[${'x,'.repeat(20_000)}x]`)).toMatch(/more errors were truncated$/);
  });

  test('nesting and length are bounded', () => {
    expect(complaint(`${'('.repeat(300)}1${')'.repeat(300)}`)).toContain('expression recursion limit exceeded: 250');
    expect(complaint('1'.padEnd(100_001, ' '))).toContain('expression code point size exceeds limit');
    expect(complaint(Array.from({ length: 300 }, () => '1').join('+'))).toContain('recursion limit');
    expect(complaint(Array.from({ length: 3000 }, () => 'true').join('&&'))).toBe('');
  });
});

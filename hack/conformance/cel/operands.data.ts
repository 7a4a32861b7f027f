/** Literals and fields by the type that they have; fields are those of the recorded fixture. */
export const operands: Readonly<Record<string, readonly string[]>> = {
  int: [
    '0', '1', '-1', '2', '3', '7', '10', '100', '-5', '9223372036854775807', '-9223372036854775808', '2147483648', '4294967296',
    '9007199254740993', '0x1F', '-0x8000000000000000', '1700000000', '253402300799', '253402300800', '-62135596800', '-62135596801',
    'self.i', 'self.for', 'self.namespace.size()', 'self.ints[0]', 'self.object.x', 'self.absentInt', 'self.nullInt', 'self.a__dash__b',
    'self.under__underscores__score', 'self.counts.y', 'object.i', 'self.port',
  ],
  uint: ['0u', '1u', '2u', '7u', '18446744073709551615u', '9223372036854775808u', '0xFFu', 'uint(self.i)'],
  double: [
    '0.0', '-0.0', '1.0', '-1.5', '0.1', '1e308', '1.7976931348623157e308', '5e-324', '-1e-7', '1e21', '123456789.125', '1e20', '2.5', '3.0',
    '9223372036854775807.0', '9223372036854775808.0', '1.8446744073709552e19', '1e100', '0.30000000000000004', '1e6', '1e-5', '100000.0',
    "double('NaN')", "double('Infinity')", "double('-Infinity')", "double('-0')", '(0.0 / 0.0)', 'self.n', 'self.whole', 'self.doubles[1]', 'object.n', '.5', '1.5e+3',
  ],
  string: [
    "''", "'a'", "'abc'", "'Hello, World'", "'héllo'", "'日本語'", "'😀'", "'a😀b'", "'e\\u0301'", "'\\u00e9'", "'\\U0001F600x'", "'\\x41\\101'", "'\\n\\t\\\\\\''",
    '"quoted \\" text"', "r'raw\\n'", "'''triple'''", "'ÀÉÎ'", "'  pad\\t'", "'\\u00a0nbsp\\u2003'", "'ß'", "'ŉ'", "'İ'", "'a,b,,c'", "'aaaa'", "','", "'%'", "'\\u0000'", "'\\ufeff'",
    "'true'", "'TRUE'", "'t'", "'1'", "'-12'", "'+3'", "'1.5'", "'1e3'", "' 1'", "'0x10'", "'1_000'", "'NaN'", "'inf'", "'9223372036854775808'", "'18446744073709551615'",
    'self.s', 'self.text', 'self.empty', 'self.unicode', 'self.choice', 'self.namespace', 'self.package', 'self.absent', 'self.nullString', 'self.map.a', 'self.strings[2]', 'object.s', 'self.percent',
    'self.objects[0].namespace', 'self.a__dot__b__slash__c',
  ],
  bytes: ["b''", "b'abc'", "b'\\xff\\xfe'", "b'ÿ'", "b'\\303\\277'", 'self.bytes', "bytes('日本')", "b'\\x00'", "br'\\x'"],
  bool: ['true', 'false', 'self.b', 'self.if', 'self.object.sub.z', 'object.b', 'has(self.absent)', 'has(self.nullString)'],
  null: ['null', 'object.nullString', 'dyn(null)'],
  duration: [
    "duration('0s')", "duration('1h30m')", "duration('-1.5s')", "duration('1ns')", "duration('1us')", "duration('1.5ms')", "duration('100h')", "duration('0.000000001s')", "duration('2562047h47m16.854775807s')",
    "duration('-2562047h47m16.854775808s')", 'self.duration', 'duration(self.i)', "duration('59.999s')", "duration('-25h61m')", "duration('+5m')", "duration('.5s')",
  ],
  timestamp: [
    "timestamp('1970-01-01T00:00:00Z')", "timestamp('2024-02-29T23:59:59.999999999Z')", "timestamp('0001-01-01T00:00:00Z')", "timestamp('9999-12-31T23:59:59.999999999Z')", "timestamp('2023-12-31T23:30:00-05:00')",
    "timestamp('2024-03-10T02:30:00+05:45')", "timestamp('1969-12-31T23:59:59.5Z')", 'self.time', 'self.date', 'timestamp(self.i)', 'timestamp(1700000000)', "timestamp('2023-10-01T08:00:00.1Z')",
  ],
  quantity: [
    "quantity('0')", "quantity('1')", "quantity('-1')", "quantity('100m')", "quantity('1.5')", "quantity('1Ki')", "quantity('1.5Gi')", "quantity('1k')", "quantity('5e3')", "quantity('9223372036854775807')", "quantity('9223372036854775808')",
    "quantity('1E')", "quantity('1Ei')", "quantity('8Ei')", "quantity('1n')", "quantity('-0.1')", "quantity('12e-3')", "quantity('1u')", "quantity('0.5Ki')", "quantity('1e19')", "quantity('123456789012345678901234567890')", "quantity('1.23456789')", "quantity('1000000')",
  ],
  ip: [
    "ip('0.0.0.0')", "ip('127.0.0.1')", "ip('10.1.2.3')", "ip('255.255.255.255')", "ip('224.0.0.1')", "ip('169.254.1.1')", "ip('::')", "ip('::1')", "ip('2001:db8::1')", "ip('2001:DB8:0:0::1')", "ip('fe80::1')", "ip('ff02::1')", "ip('fc00::1')", "ip('ff01::1')", "ip('239.1.2.3')",
  ],
  cidr: [
    "cidr('10.0.0.0/8')", "cidr('10.1.2.3/16')", "cidr('0.0.0.0/0')", "cidr('192.168.1.1/32')", "cidr('::/0')", "cidr('2001:db8::/32')", "cidr('2001:db8::1/128')", "cidr('fe80::1/64')", "cidr('10.0.0.0/31')", "cidr('2001:DB8::5/33')",
  ],
  semver: [
    "semver('0.0.0')", "semver('1.2.3')", "semver('1.2.3-alpha.1')", "semver('1.2.3-alpha.beta')", "semver('1.2.3-alpha.10')", "semver('1.2.3+build.5')", "semver('10.20.30-rc.1+meta')", "semver('v1.2', true)", "semver('01.02.3', true)", "semver('1', true)", "semver('18446744073709551615.0.0')", "semver('1.0.0-a-b')",
  ],
  url: [
    "url('https://example.com:8080/path/a%20b?k=v&k=w&x=%C3%A9')", "url('http://user:pw@host/')", "url('https://[::1]:443/p')", "url('/absolute/path')", "url('https://example.com')", "url('https://example.com?a')", "url('mailto:a@b')", "url('https://EXAMPLE.com/%7Efoo/é')", "url('file:///etc/x')", "url('https://[fe80::1%25en0]/')", "url('https://h/a;b?q=1;2#frag')", "url('https://h?a=1+2&b=%2B')",
  ],
  format: [
    'format.dns1123Label()', 'format.dns1123Subdomain()', 'format.dns1035Label()', 'format.qualifiedName()', 'format.dns1123LabelPrefix()', 'format.dns1123SubdomainPrefix()', 'format.dns1035LabelPrefix()', 'format.labelValue()', 'format.uri()', 'format.uuid()', 'format.byte()', 'format.date()', 'format.datetime()', "format.named('dns1123Label').value()",
  ],
  'list(int)': ['[]', '[1]', '[1, 2, 3]', '[3, 1, 2, 3]', '[-1, 9223372036854775807]', 'self.ints', 'self.nested[0]', 'lists.range(4)', 'self.absentList', 'self.nullList', '[?optional.of(1), ?optional.none()]', 'object.ints', '[1, 1]'],
  'list(uint)': ['[1u, 2u]', '[3u, 1u]', '[18446744073709551615u, 1u]'],
  'list(double)': ['[1.5, 2.0]', '[2.0, -1.0, 2.0]', "[double('NaN'), 1.0]", 'self.doubles', "[1.0, double('NaN'), 0.5]"],
  'list(string)': ["['a', 'b']", "['b', 'a', 'c', 'a']", 'self.strings', 'self.set', 'self.open', "['']", "['😀', 'é', '\\uffff']", "'a,b,c'.split(',')", 'self.lists.l', 'object.strings', "['x', 'yyy', 'zz']"],
  'list(bool)': ['[true, false]', '[false, true, true]', '[self.b, self.if]'],
  'list(bytes)': ["[b'b', b'a']", "[b'a', b'ab']"],
  'list(duration)': ["[duration('2s'), duration('1s')]", "[duration('1s'), duration('1.5s')]", "[duration('2562047h'), duration('2562047h')]"],
  'list(timestamp)': ["[timestamp('2024-01-01T00:00:00Z'), timestamp('2023-01-01T00:00:00Z')]", '[self.date, self.time]'],
  'list(list(int))': ['[[1], [2, 3]]', 'self.nested', '[[], [1]]', '[[1, 2], [1, 2]]'],
  'list(list(string))': ["[['a'], ['b', 'c']]", '[self.set, self.strings]'],
  'list(dyn)': ["[dyn(1), dyn('a')]", '[dyn(1), dyn(1.0), dyn(1u)]', '[dyn([1]), dyn(2)]', 'object.nullItems', 'dyn([[1], [[2, 3], [[4]]]])', '[dyn(null), dyn(true)]', 'self.nullItems', "[dyn(b'a'), dyn('a')]", 'object.objects'],
  'list(optional(int))': ['[optional.of(1), optional.none()]', '[self.?i, self.?absentInt, self.?nullInt]'],
  'list(struct)': ['self.objects', 'self.keyed', 'oldSelf.keyed', 'oldSelf.objects'],
  'map(string, int)': ["{'a': 1, 'b': 2}", '{}', 'self.counts', "{'a': 1, ?'b': optional.none()}", "{'x': -1}"],
  'map(string, string)': ["{'a': 'x', 'b': 'y'}", 'self.map', 'oldSelf.map', 'self.nullMap', 'object.map', "{'😀': 'é'}", 'self.nullables'],
  'map(int, string)': ["{1: 'a', -2: 'b'}", "{9223372036854775807: 'max'}"],
  'map(bool, int)': ['{true: 1, false: 0}'],
  'map(uint, string)': ["{1u: 'a'}"],
  'map(string, list(string))': ['self.lists', "{'k': ['v']}", "url('https://h?a=1&a=2&b').getQuery()"],
  'map(dyn, dyn)': ["{dyn(1): dyn('a'), dyn('k'): dyn(1)}", "{'a': dyn(null)}", 'object.object', 'object.loose', 'dyn({1: 1, 1u: 2})'],
  'optional(int)': ['optional.of(1)', 'optional.none()', 'self.?i', 'self.?absentInt', 'self.?nullInt', 'self.ints[?0]', 'self.ints[?9]', 'optional.ofNonZeroValue(0)', 'self.?absentObject.x', 'self.?object.x', 'self.?nullObject.x', 'self.counts[?"x"]', 'self.?absentObject.?x'],
  'optional(string)': ["optional.of('x')", 'self.?s', 'self.?absent', 'self.?nullString', 'self.map[?"c d"]', 'self.map[?"q"]', "optional.ofNonZeroValue('')", 'self.nullables[?"a"]', 'self.?nullMap[?"a"]', 'self.objects[0].?t', 'self.?namespace', 'self.map.?a'],
  'optional(list(int))': ['self.?ints', 'self.?absentList', 'self.?nullList', 'optional.of([1, 2])'],
  'optional(map(string, int))': ['self.?counts', "optional.of({'a': 1})"],
  'optional(list(string))': ['self.?strings', 'self.lists.?l', "format.dns1123Label().validate('Bad_')"],
  struct: ['self.object', 'oldSelf.object', 'self.loose', 'oldSelf.loose', 'self.embedded', 'self.objects[0]', 'self.absentObject', 'self.nullObject', 'self.keyed[0]', 'self.bare', 'self.object.sub'],
  dyn: ['object.nullString', 'object.object', 'self.port', 'self.percent', 'self.nullPort', 'object.missing', 'dyn(1)', "dyn('a')", 'dyn([1, 2])', "dyn({'a': 1})", 'dyn(1u)', 'dyn(1.0)', 'dyn(null)', 'dyn(self.object)', 'dyn(self.loose)', 'dyn(self)', 'object.nested', 'object.map', 'object'],
  type: ['int', 'string', 'list', 'map', 'type', 'null_type', 'type(1)', 'type(self.s)', 'type(self.object)', 'type(dyn(1.0))', 'bool', 'uint', 'double', 'bytes', 'google.protobuf.Timestamp', 'google.protobuf.Duration', 'type(type(1))', 'type(self.port)', 'optional_type', 'type(self.nullPort)', "type(quantity('1'))", "type(ip('::1'))", "type(url('/'))", "type(semver('1.0.0'))", "type(cidr('::/0'))"],
};

/** Texts that mean something to one parameter of a function, by `function/index of the argument` (a target is 0). */
export const speakingTexts: Readonly<Record<string, readonly string[]>> = {
  'quantity/0': ["'1Ki'", "'1.5Gi'", "'100m'", "'1 Gi'", "''", "'1e3'", "'1E3'", "'-5n'", "'+1'", "'.5'", "'5.'", "'1KI'", "'1mi'", "'0x1'", "'1e400'", "'1e-400'", "'1Ee'", "'ä'"],
  'isQuantity/0': ["'1Ki'", "'1.5Gi'", "'1 Gi'", "''", "'1e3'", "'.5'", "'5.'", "'1KI'", "'0x1'", "'1m'", "'1e'"],
  'ip/0': ["'1.2.3.4'", "'1.2.3'", "'01.2.3.4'", "'1.2.3.256'", "'::ffff:1.2.3.4'", "'fe80::1%eth0'", "'::'", "'1::2::3'", "'2001:db8::g'", "''", "' 1.2.3.4'", "'1:2:3:4:5:6:7:8'", "'1:2:3:4:5:6:7'", "'[::1]'", "'0:0:0:0:0:0:0:1'"],
  'isIP/0': ["'1.2.3.4'", "'01.2.3.4'", "'::ffff:1.2.3.4'", "'fe80::1%eth0'", "'::'", "''", "'1.2.3.4/8'"],
  'ip.isCanonical/0': ["'1.2.3.4'", "'2001:DB8::1'", "'2001:db8::1'", "'2001:db8:0:0::1'", "'::ffff:1.2.3.4'", "'x'", "'0:0::1'"],
  'cidr/0': ["'10.0.0.0/8'", "'10.0.0.1'", "'10.0.0.0/33'", "'10.0.0.0/08'", "'::/129'", "'::ffff:1.2.3.0/120'", "'fe80::%eth0/64'", "'10.0.0.0/-1'", "''", "'a/8'", "'10.0.0.0/'"],
  'isCIDR/0': ["'10.0.0.0/8'", "'10.0.0.1'", "'10.0.0.0/33'", "'::/0'", "'::ffff:1.2.3.0/120'"],
  'containsIP/1': ["'10.1.1.1'", "'192.168.1.1'", "'2001:db8::5'", "'x'", "'::ffff:10.1.1.1'"],
  'containsCIDR/1': ["'10.1.0.0/16'", "'10.0.0.0/7'", "'2001:db8:1::/48'", "'x'", "'10.5.5.5/8'"],
  'semver/0': ["'1.2.3'", "'v1.2.3'", "'1.2'", "'1.2.3.4'", "'01.2.3'", "'1.2.3-'", "'1.2.3-01'", "'1.2.3-a..b'", "'1.2.3+'", "'1.2.x'", "''", "'-1.2.3'", "'1.2.3-é'", "'99999999999999999999.0.0'", "'1.2.3+a+b'", "' 1.2.3'"],
  'isSemver/0': ["'1.2.3'", "'v1.2.3'", "'1.2'", "'01.2.3'", "'1.2.3-01'", "''", "'v1'"],
  'url/0': ["'https://h'", "'h'", "':'", "'http://[::1'", "'http://h:port'", "'%zz'", "''", "'//h/p'", "'http://a b/'", "'/p?%zz'", "'http://h/\\u007f'", "'http://%41/'", "'../x'"],
  'isURL/0': ["'https://h'", "'h'", "':'", "'/p'", "''", "'http://[::1'", "'//h/p'", "'*'"],
  'timestamp/0': ["'2024-01-02T03:04:05Z'", "'2024-01-02T03:04:05.123456789+14:00'", "'2024-01-02'", "'2024-13-01T00:00:00Z'", "'2024-02-30T00:00:00Z'", "'2024-01-02 03:04:05Z'", "'2024-01-02T24:00:00Z'", "'2024-01-02T03:04:60Z'", "'2024-01-02t03:04:05z'", "''", "'0000-01-01T00:00:00Z'", "'10000-01-01T00:00:00Z'", "'2024-01-02T03:04:05'", "'2024-01-02T03:04:05,5Z'", "'2024-01-02T03:04:05.1234567891Z'"],
  'duration/0': ["'1h'", "'1d'", "''", "'1'", "'0'", "'-1h1m1.1s'", "'1h-1m'", "'100000000h'", "'1µs'", "'1μs'", "' 1s'", "'1.s'", "'.s'", "'9223372036854775807ns'", "'9223372036854775808ns'", "'1e3s'"],
  'matches/1': ["'^a'", "'.*'", "'[a-z]+$'", "'('", "'(?i)HELLO'", "'\\\\d+'", "'a{2,3}'", "'\\\\pL+'", "'(?P<n>a)'", "'(?=a)'", "'^$'", "'\\\\bx'", "'é'", "'.'", "'[[:alpha:]]'", "'a{1001}'"],
  'find/1': ["'[a-z]+'", "'b'", "'^'", "'[0-9]*'", "'(l)(o)'", "'.$'", "'('"],
  'findAll/1': ["'[a-z]'", "'a*'", "''", "'l+'", "'\\\\S+'", "'.'", "'('"],
  'format/0': ["'%s'", "'%d'", "'%s %s'", "'%.3f'", "'%e'", "'%x'", "'%X'", "'%o'", "'%b'", "'%%'", "'%.2e'", "'no clause'", "'%z'", "'%'", "'%.f'", "'%s%d%f'"],
  'format.named/0': ["'dns1123Label'", "'dns1123label'", "'uuid'", "'nope'", "''", "'date-time'", "'datetime'", "'byte'", "'labelValue'", "'uri'"],
  'validate/1': ["'valid-name'", "'Invalid_Name'", "'a.b.c'", "'example.com/key'", "'-'", "'123e4567-e89b-12d3-a456-426614174000'", "'aGVsbG8='", "'aGVsbG8'", "'2024-01-02'", "'2024-1-2'", "'2024-01-02T03:04:05Z'", "'https://x/y'", "'a b'", "''", "'9a'", "'a-'", "'toolonglabel-toolonglabel-toolonglabel-toolonglabel-toolonglabel-x'"],
  'replace/1': ["'a'", "''", "'aa'", "'l'", "'😀'"],
  'replace/3': ['0', '1', '-1', '2', '100'],
  'split/1': ["','", "''", "'a'", "' '", "'😀'"],
  'split/2': ['0', '1', '2', '-1', '100'],
  'findAll/2': ['0', '1', '2', '-1', '100'],
  'substring/1': ['0', '1', '2', '3', '-1', '100'],
  'substring/2': ['0', '1', '2', '3', '5', '-1', '100'],
  'charAt/1': ['0', '1', '2', '3', '-1', '100'],
  'indexOf/2': ['0', '1', '3', '-1', '100'],
  'lastIndexOf/2': ['0', '1', '3', '-1', '100'],
  'slice/1': ['0', '1', '2', '-1', '9'],
  'slice/2': ['0', '1', '2', '3', '-1', '9'],
  'lists.range/0': ['0', '1', '3', '-1', '10', '100'],
  'flatten/1': ['0', '1', '2', '-1', '10'],
  '_[_]/1': ['0', '1', '2', '-1', '9', "'a'", "'b'", "'zz'", '1u', '1.0', '0.5', 'true'],
  '_[?_]/1': ['0', '1', '-1', '9', "'a'", "'zz'", '1u', '1.0', 'true'],
  'bool/0': ["'true'", "'false'", "'TRUE'", "'True'", "'t'", "'F'", "'1'", "'0'", "'yes'", "'tRUE'", "''"],
  'int/0': ["'0'", "'-0'", "'+5'", "'1e3'", "'0x10'", "'９'", "' 1'", "'9223372036854775808'", "'-9223372036854775808'", "'1_0'", "''"],
  'uint/0': ["'0'", "'-1'", "'+5'", "'18446744073709551615'", "'18446744073709551616'", "'0x10'", "''", "'1.0'"],
  'double/0': ["'1'", "'1e400'", "'-1e400'", "'0x1p-2'", "'1_0'", "'infinity'", "'nan'", "'-Inf'", "'+1.5'", "'.'", "''", "'1e-400'", "' 1'", "'1f'"],
  'string/0': ["b'\\xff'", "b'ok'", '1e15', '1e14', '123456.789', '1e-4', '0.00001', '100000000000000000000.0', '-0.0'],
};
const zones = ["'UTC'", "'+02:00'", "'-05:30'", "'Europe/Berlin'", "'America/New_York'", "'Asia/Kathmandu'", "'+2:00'", "'02:00'", "'Z'", "''", "'Nowhere/Land'", "'-00:00'", "'+25:00'", "'Local'", "'EST'", "'-23:59'"];
/** The time zones that accessors of timestamps take. */
export const timeZones: readonly string[] = zones;

/** Macros: `R` a list, `M` a map, `O` an optional, `P` a predicate about x, `E` an expression about x. */
export const macros: readonly string[] = [
  'R.all(x, P)', 'R.exists(x, P)', 'R.exists_one(x, P)', 'R.filter(x, P)', 'R.map(x, E)', 'R.map(x, P, E)', 'M.all(x, P)', 'M.exists(x, P)', 'M.exists_one(x, P)', 'M.filter(x, P)', 'M.map(x, E)',
  'R.all(y, x, P)', 'R.exists(y, x, P)', 'R.existsOne(y, x, P)', 'R.exists_one(y, x, P)', 'R.transformList(y, x, E)', 'R.transformList(y, x, P, E)', 'R.transformMap(y, x, E)', 'R.transformMap(y, x, P, E)', 'M.transformList(y, x, E)', 'M.transformMap(y, x, E)',
  'M.transformMap(y, x, P, E)', 'M.transformMapEntry(y, x, {y: x})', 'M.transformMapEntry(y, x, {x: y})', 'R.transformMapEntry(y, x, {x: y})', 'R.transformMapEntry(y, x, P, {string(y): x})', 'M.existsOne(y, x, P)', 'M.all(y, x, P)', 'M.exists(y, x, P)',
  'O.optMap(x, E)', 'O.optFlatMap(x, optional.of(E))', 'O.optFlatMap(x, P ? optional.of(x) : optional.none())', 'O.optMap(x, E).orValue(E2)', 'R.sortBy(x, E)', 'R.map(x, R.map(z, x == z))', 'R.map(x, E).filter(x, P)', 'R.all(x, R.exists(z, z == x))', 'R.map(x, E).size()',
  'R.filter(x, P).map(x, E)', 'R.exists(x, P) && R.all(x, P)', 'R.sortBy(x, -x)', 'R.map(x, [x, x])', "R.map(x, {'k': x})", 'R.transformList(y, x, [dyn(y), dyn(x)])', 'M.transformList(y, x, [dyn(y), dyn(x)])', 'M.filter(x, M[x] == M[x])', 'M.map(x, M[x])',
];
/** What macros do with x, by the type of x. */
export const predicates: Readonly<Record<string, readonly string[]>> = {
  int: ['x > 1', 'x % 2 == 0', 'x == 1', '1 / (x - 1) > 0', 'x in [1, 2]', 'true'],
  double: ['x > 1.0', 'x == 2.0', 'x != x'],
  string: ["x == 'a'", "x.startsWith('a')", 'x.size() > 1', 'int(x) > 0', "x in ['a', 'b']", "x.matches('^[a-z]$')", 'false'],
  bool: ['x', '!x'],
  dyn: ['x == 1', "type(x) == string", 'x > 0', 'has(x.x)', 'true', 'x == null'],
  struct: ['has(x.namespace)', 'x.x > 1', "x.?t.orValue('') == 't'", "x.name == 'a'", 'has(x.value)', 'has(x.t)'],
  list: ['x.size() > 0', 'x == []', 'x.exists(w, w == w)'],
};
export const elements: Readonly<Record<string, readonly string[]>> = {
  int: ['x', 'x + 1', 'string(x)', 'x * 9223372036854775807', '10 / x', 'double(x)', '[x]'],
  double: ['x', 'x * 2.0', 'string(x)', 'int(x)'],
  string: ['x', "x + '!'", 'x.size()', 'int(x)', 'x.upperAscii()', "'%s'.format([x])", 'bytes(x)'],
  bool: ['x', '!x', 'x ? 1 : 0'],
  dyn: ['x', 'type(x)', 'string(x)', 'x + 1', "dyn(x) == 1"],
  struct: ['x', 'x.x', 'x.name', "x.?namespace.orValue('none')", 'x.?t'],
  list: ['x', 'x.size()', 'x + x', 'x.map(w, w)'],
};

/** Expressions for the grammar, constants and what no signature covers. */
export const handWritten: readonly string[] = [
  'format.uuid() == format.uuid()', 'format.uuid() != format.uuid()', 'url(\'/a\') == url(\'/b\')', 'url(\'/a\') != url(\'/b\')', 'ip(\'::1\') == ip(\'::2\')', 'ip(\'::1\') != ip(\'::2\')', 'ip(\'1.1.1.1\') != ip(\'1.1.1.2\')', 'cidr(\'::/0\') != cidr(\'::/64\')', 'cidr(\'::/64\') == cidr(\'::/64\')', 'semver(\'1.0.0\') != semver(\'1.0.0\')', 'semver(\'1.0.0\') == semver(\'1.0.0\')', 'quantity(\'1\') == quantity(\'2\')', 'url(self.s) == url(self.text)', 'optional.of(ip(\'::1\')) == optional.of(ip(\'::1\'))', '[ip(\'::1\')] == [ip(\'::1\')]', 'ip(\'::1\') in [ip(\'::1\')]', 'size(dyn(ip(\'::1\')))', 'dyn(ip(\'::1\')) == dyn(cidr(\'::/0\'))', 'dyn(ip(\'::1\')) != dyn(cidr(\'::/0\'))', 'dyn(ip(\'::1\')) == null', 'dyn(self.object) != dyn(1)', 'self.ints != oldSelf.ints',
  'self', 'oldSelf', 'object', 'unknown', 'self.unknown', 'self.namespace', 'self.__namespace__', 'self.package', 'self.__package__', 'self.for', 'self.__for__', 'self.if', 'self.__if__', 'self.in', 'self.__in__', 'self.true', 'self.__true__', 'self.null', 'self.__null__', 'self.import', 'self.__import__',
  'has(self.namespace)', 'has(self.__namespace__)', 'has(self.in)', 'has(self.__in__)', 'has(self.for)', 'self.?namespace', 'self.?__namespace__', 'self.?for.orValue(1)', 'has(self.objects[0].namespace)', 'has(self.objects[0].__namespace__)', 'self.objects[1].?namespace', 'self.as', 'self.while', 'self.`a-b`', 'self.`a.b/c`', 'self.`namespace`', 'has(self.`a-b`)', 'self.?`a-b`', 'object.namespace', 'object.`a-b`', 'object.for', "object['namespace']", 'object.__namespace__', 'self.map.`c d`', 'self.map.a', 'self.counts.x', 'self.map.namespace', 'has(self.map.namespace)', 'has(self.map.__namespace__)', 'namespace', 'for', 'package', 'in', 'as == 1', 'self.under__score', 'self.under__underscores__score', 'self.__underscores__for__underscores__', 'self.9x', 'self.a-b', 'self.a__dash__b',
  'has(self.nullString)', 'has(self.nullInt)', 'has(self.nullList)', 'has(self.nullObject)', 'has(self.nullMap)', 'has(self.nullPort)', 'has(self.absent)', 'has(self.s)', 'has(self.empty)', 'self.nullString', 'self.nullInt', 'self.nullList', 'self.nullObject', 'self.nullPort', 'self.?nullString', 'self.?nullObject.x', 'self.?nullObject.?x', 'self.nullObject.x', 'has(self.nullObject.x)', 'has(self.absentObject.x)', 'self.nullables', 'self.nullables.a', "self.nullables['a']", 'has(self.nullables.a)', "'a' in self.nullables", 'self.nullables.?a', "self.nullables.a == null", 'self.nullItems', 'self.nullItems[0]', 'self.nullItems[0] == null', 'self.nullItems.all(x, x != null)', 'self.nullItems.map(x, type(x))', 'self.nullItems.exists(x, x == null)', 'self.objects[0].t', 'has(self.objects[0].t)', 'self.objects.map(o, has(o.t))', 'self.objects.filter(o, has(o.t)).size()', 'self.objects == oldSelf.objects', 'oldSelf.objects == self.objects', 'self.objects[0] == oldSelf.objects[0]', 'self.nullObject == oldSelf.nullObject', 'has(oldSelf.nullObject)', 'object.nullString', 'has(object.nullString)', 'object.?nullString', 'object.nullString == null', "self.nullPort == null", "type(self.nullPort)", 'has(self.nullPort) ? 1 : 2',
  'dyn(self.object).size()', "'x' in dyn(self.object)", "'absent' in dyn(self.object)", "dyn(self.object)['x']", "dyn(self.object).map(k, k).size()", 'dyn(self.objects[0]).map(k, k).size()', 'type(self.object) == map', 'type(self.object)', 'type(self)', 'type(self.map)', 'dyn(self.object) == dyn({"x": 5})', 'dyn(self.object) == dyn(oldSelf.object)', 'self.object == oldSelf.object', 'self.loose == oldSelf.loose', 'self.loose.known', 'self.loose.unknown', 'dyn(self.loose).unknown', 'self.bare', 'dyn(self.bare).any', 'self.bare == self.bare', 'self.embedded.kind', 'self.embedded.metadata.name', 'self.embedded.spec', 'dyn(self.object).exists(k, k == "y")', 'dyn(self.object).all(k, v, k != "")', 'self.object.sub == oldSelf.object.sub', 'self.map == oldSelf.map', 'self.set == oldSelf.set', 'self.keyed == oldSelf.keyed', 'self.ints == oldSelf.ints', 'self.set + oldSelf.set', 'self.keyed + oldSelf.keyed', 'oldSelf.keyed + self.keyed', 'self.set + ["z"]', '["z"] + self.set', 'self.set == ["a", "c"]', '["a", "c"] == self.set', 'self.time == oldSelf.time', 'self.duration == oldSelf.duration', 'self.bytes == oldSelf.bytes', 'self.time - self.date', 'self.set[0]', 'self.keyed[0].name', '(self.set + oldSelf.set).size()', 'self.keyed.map(x, x.name)', '"a" in self.set', 'self.object in [oldSelf.object]', 'self.keyed[0] in oldSelf.keyed', 'self.port == 8080', "self.port == '8080'", 'self.port > 80', 'self.percent.endsWith("%")', 'type(self.port) == int && self.port > 1', 'self.port + 1', 'self.choice == "three"',
  '1 == 1.0', '1 == 1u', '1 == dyn(1.0)', 'dyn(1) == dyn(1u)', 'dyn(1) < dyn(1.5)', '1 < 1u', '1 < 2.5', '2u > 1.5', 'dyn(1) == dyn("1")', 'dyn([1]) == dyn([1.0])', 'dyn({1: 1}) == dyn({1u: 1.0})', '{1: "a"}[1]', 'dyn({1: "a"})[1.0]', 'dyn({1: "a"})[1u]', 'dyn({1: "a"})[1.5]', '1 in dyn([1.0])', '1.0 in dyn({1: 1})', '{"a": 1} == {"a": 1.0}', '[1, 2.0]', '[1, dyn(2.0)]', '{"a": 1, "b": "c"}', '{"a": 1, 2: 3}', '[1, null]', '[[1], ["a"]]', '[[], [1]]', '{"a": []}', '[optional.of(1), 1]', '{1.5: 1}', '{null: 1}', '{"a": 1, "a": 2}', '{1: 1, 1u: 2}', 'dyn({"a": 1, "a": 2})', '[]', '{}', '[,]', '{,}', '[1,]', '{"a": 1,}', '9223372036854775808', '-9223372036854775808', '-9223372036854775809', '- 9223372036854775808', '--1', '---1', '-(-9223372036854775808)', '!true', '!!true', '!!!false', '-0', '-0.0', '1e400', '-1e400', '18446744073709551616u', '1.', '.1', '1.e1', '0x', '0xFFFFFFFFFFFFFFFF', '0xFFFFFFFFFFFFFFFFu', '01', '1u2', '1U', '0X1F', '1e+5', '1E5', 'b"a" + b"b"', '"a" "b"', "'\\q'", "'\\ud800'", "'\\U00110000'", "'\\400'", "'\\x4'", "b'\\u00e9'", "'''a\nb'''", "'a\nb'", 'R"x\\y"', 'bR"x\\y"', 'Br"x"', 'rb"x"', "'\\`\\?\\a\\v\\f\\r\\b'", '"\\N"', 'true ? 1 : 2', 'true ? 1 : "a"', 'true ? dyn(1) : dyn("a")', 'true ? 1 : 1 / 0', 'false ? 1 / 0 : 2', 'null ? 1 : 2', '1 ? 1 : 2', 'dyn(1) ? 1 : 2', 'true ? false ? 1 : 2 : 3', 'true || 1 / 0 > 0', '1 / 0 > 0 || true', '1 / 0 > 0 || false', 'false && 1 / 0 > 0', '1 / 0 > 0 && false', '1 / 0 > 0 && true', '1 / 0 > 0 || 1 % 0 > 0', '1 / 0 > 0 && 1 % 0 > 0', 'dyn(1) || true', 'dyn(1) || false', 'true && dyn("a")', 'dyn("a") && true', 'true || dyn(1)', '"a" && true', 'dyn(1) && dyn(2)', '1 < 2 < 3', '1 == 1 == true', '1 + 2 * 3 - 4 / 2 % 3', '2 - 1 - 1', '1 in [1] in [true]', 'a.b.c', '.self.i', 'self .i', 'self. i', '// comment\n1', '1 // comment', '', ' ', '1 1', '(1', '1)', '[1', '{1', '{1:', 'self.', 'self.i.', '1 +', '+ 1', '@', '#', '1 = 1', '1 & 1', '1 | 1', '!', '-', 'self["i"]', 'self.i()', 'self.s()', 'foo(1)', 'foo.bar(1)', 'self.foo(1)', 'size()', 'size(1)', '1.size()', 'size(1, 2)', '"a".size(1)', 'has(self)', 'has(1)', 'has("a")', 'has(self.i, 1)', 'has()', 'has(self["i"])', 'has(self.map["a"])', 'has(self.i.x)', '[1].all(x)', '[1].all(1, true)', '[1].all(x.y, true)', '[1].all(x, 1)', '[1].exists(x, "a")', '[1].map(x, x, x)', '[1].map(x)', '1.map(x, x)', 'true.all(x, x)', '"abc".map(x, x)', 'dyn(1).map(x, x)', 'dyn("abc").all(x, true)', '[1].all(x, x, true)', '[1].all(x, y, x == y)', '[1].transformList(x, x, x)', '[1].map(self, self)', '[1].map(x, [2].map(x, x))', '[1].map(__result__, __result__)', '[1].map(x, __result__)', '[1].map(@result, 1)', '[1].all(i, v, i == v)', "{'a': 1}.transformMapEntry(k, v, {k: v, 'z': v})", "{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k})", "{'a': 1}.transformMapEntry(k, v, k)", "{'a': 1}.transformMapEntry(k, v, {})", "[1, 2].transformMapEntry(i, v, {'same': v})", '[3, 1].sortBy(x, [x])', '[3, 1].sortBy(x)', '[].sortBy(x, x)', '[3, 1].sortBy(self.i, 1)', 'cel.bind(x, 1, x)', 'math.greatest(1, 2)', 'base64.encode(b"a")', 'strings.quote("a\\n\\"")', '"a".reverse()', 'optional.of(1) == optional.of(1.0)', 'optional.none() == optional.none()', 'optional.of(null)', 'optional.ofNonZeroValue(null)', 'optional.ofNonZeroValue([])', 'optional.ofNonZeroValue({})', 'optional.ofNonZeroValue(0u)', 'optional.ofNonZeroValue(0.0)', 'optional.ofNonZeroValue(false)', "optional.ofNonZeroValue(b'')", "optional.ofNonZeroValue(duration('0s'))", "optional.ofNonZeroValue(timestamp(0))", "optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z'))", "optional.ofNonZeroValue(quantity('0'))", "optional.ofNonZeroValue(self.object)", 'optional.ofNonZeroValue(optional.none())', 'optional.ofNonZeroValue(type(1))', 'optional.of(optional.of(1)).value()', 'optional.of([1])[0]', 'optional.of([1])[?0]', 'optional.of([1])[?5]', 'optional.of({"a": {"b": 1}}).a.b', 'optional.of({"a": 1}).?a', 'optional.of({"a": 1}).a', 'optional.none().a', 'has(optional.of({"a": 1}).a)', 'has(optional.none().a)', '{?"a": optional.none()}', '{?"a": 1}', '[?1]', '[?optional.of(1), 2]', '{"a": 1}.?b.c', 'dyn({"a": 1}).?a.b', 'dyn({"a": 1}).?b.c', 'dyn(1).?a', '"s".?a', 'optional.none().orValue(1)', 'optional.of(1).orValue("a")', 'optional.of(1).or(optional.of(2)).value()', 'optional.none().or(optional.none())', 'optional.none().value()', 'optional.of(1).hasValue()', 'optional.none().optMap(x, x)', 'optional.of(1).optMap(x, x / 0)', '[optional.of(1), optional.none()].unwrapOpt()', 'optional.unwrap([optional.none()])', 'self.?missing', 'self.?object.missing', 'self.?object.?missing', 'self.?i.x', '[].first()', '[1, 2].first()', '[1, 2].last()', '[].last()', 'self.ints.first().value()', '"a".first()',
  'timestamp(0)', 'timestamp(-62135596801)', 'timestamp(253402300800)', 'timestamp("9999-12-31T23:59:59Z") + duration("1s")', 'timestamp("0001-01-01T00:00:00Z") - duration("1s")', 'timestamp("9999-12-31T23:59:59Z") - timestamp("0001-01-01T00:00:00Z")', 'duration("2562047h") + duration("2562047h")', '-duration("1s")', 'duration("1s") * 2', 'timestamp(0) + 1', 'string(timestamp(0))', 'string(timestamp("2024-01-01T00:00:00.120Z"))', 'string(timestamp("2024-01-01T00:00:00+02:00"))', 'string(duration("1h1m1.5s"))', 'string(duration("1.000000001s"))', 'string(duration("0s"))', 'string(duration("-1h"))', 'int(timestamp("1969-12-31T23:59:59.9Z"))', 'int(duration("1.9s"))', 'int(duration("-1.9s"))', 'string(1.0)', 'string(1e21)', 'string(1e-7)', 'string(0.1)', 'string(-0.0)', 'string(double("NaN"))', 'string(double("inf"))', 'string(1u)', 'string(b"\\xff")', 'string(true)', 'string(null)', 'string([1])', 'string(dyn([1]))', 'string(dyn(null))', 'string(type(1))', 'string(dyn(int))', 'int(1.9)', 'int(-1.9)', 'int(9223372036854775807.0)', 'int(9.3e18)', 'int(double("NaN"))', 'uint(-1)', 'uint(1.9)', 'uint(1.9e19)', 'uint(-0.5)', 'int(18446744073709551615u)', 'int(true)', 'int(dyn(true))', 'double("x")', 'bool("x")', 'bool(1)', 'bytes("é")', 'bytes(b"a")', 'bytes(1)', 'dyn(dyn(1))', 'type(dyn(1))', 'type(null)', 'type([])', 'type({})', 'type(optional.none())', 'type(duration("1s"))', 'type(timestamp(0))', 'int == type(1)', 'list == type([1])', 'type(1) == type(2)', 'type == type(int)', 'dyn(int) == dyn("int")', 'null == null', 'null == 1', 'dyn(null) == dyn(1)', 'self.s == null', 'null != self.i', 'null < null', 'dyn(null) < dyn(1)', '[1] < [2]', '{} == {}', 'dyn(1) < dyn("a")', 'true < false', 'b"a" < b"b"', '"a" < "B"', '"é" < "z"', '"😀" < "\\uffff"', 'duration("1s") < duration("2s")', 'double("NaN") == double("NaN")', 'double("NaN") < 1.0', 'double("NaN") != double("NaN")', '[double("NaN")] == [double("NaN")]', '0.0 == -0.0', '9223372036854775807 == 9223372036854775807.0', '9223372036854775807 < 9223372036854775808.0', '9223372036854775807 + 1', '-9223372036854775808 - 1', '9223372036854775807 * 2', '-9223372036854775808 / -1', '-9223372036854775808 % -1', '0u - 1u', '18446744073709551615u + 1u', '1 / 0', '1 % 0', '1u / 0u', '1u % 0u', '1.0 / 0.0', '-1.0 / 0.0', '1.0 % 1.0', '-7 / 2', '-7 % 2', '7 % -2', '"a" + 1', '"a" * 2', '[1] + [2]', '[1] + ["a"]', '{} + {}', '"a" - "b"', 'self.ints + [1]', 'self.ints + self.strings', 'self.strings.join()', 'dyn("a") + dyn(1)', 'dyn(1) + dyn(1u)', 'dyn(1) + dyn(1.0)',
  'Foo{}', 'google.protobuf.Timestamp{seconds: 1}', 'google.protobuf.Int32Value{value: 1}', 'self{}', 'Object{}', '[1, 2, 3].sum()', '[].sum()', '[1, "a"].sum()', '[9223372036854775807, 1].sum()', '[].min()', '["a"].sum()', '[1, 2].min() == 1', '[dyn(1), dyn("a")].min()', 'self.open.size()', 'self.text.size()', 'self.text.contains(self.text)', 'self.open.all(x, self.open.all(y, x == y))', 'self.text.split(" ").map(x, x.upperAscii()).join("-")', 'self.open.map(x, x.replace("x", "yy")).join()', 'self.counts.all(k, k.size() > 0)', 'self.counts.map(k, self.counts[k])', 'self.text.matches(self.s)', 'self.text.matches("^[a-z ]+$")', 'lists.range(100).map(x, x * x).sum()', 'lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))', 'lists.range(1000000).size()', 'self.text.lowerAscii().upperAscii()', 'self.text.substring(1, 2) + self.s', 'self.ints.map(x, string(x)).join(",")', 'self.nested.map(x, x.map(y, y + 1))', 'self.nested.flatten()', 'self.ints.distinct().sort()', 'self.strings.sort().reverse()', 'self.ints.sortBy(x, -x)', 'self.keyed.sortBy(k, k.name).map(k, k.name)', 'sets.contains(self.ints, [1])', 'sets.equivalent(self.strings, self.set)', 'sets.intersects(self.open, self.strings)',
  "'%d %s %f %e %x %o %b'.format([1, 'a', 1.5, 1.5, 255, 8, 5])", "'%s'.format([[1, 2.0, 'a']])", "'%s'.format([{'b': 1, 'a': [true]}])", "'%s'.format([null])", "'%s'.format([self.object])", "'%s'.format([self.map])", "'%s'.format([duration('1.5s')])", "'%s'.format([timestamp(0)])", "'%s'.format([b'ab'])", "'%s'.format([1.0])", "'%s'.format([type(1)])", "'%s'.format([dyn(1u)])", "'%s'.format([double('NaN')])", "'%d'.format([1.5])", "'%d'.format([double('NaN')])", "'%d'.format(['a'])", "'%.1f'.format([2.25])", "'%.0f'.format([0.5])", "'%.10f'.format([1.0])", "'%f'.format([double('inf')])", "'%f'.format(['NaN'])", "'%f'.format([1])", "'%e'.format([123456.789])", "'%.3e'.format([0.0])", "'%x'.format(['hé'])", "'%x'.format([b'\\xff'])", "'%X'.format([-255])", "'%x'.format([18446744073709551615u])", "'%o'.format([-8])", "'%b'.format([true])", "'%b'.format([-5])", "'%s %s'.format([1])", "'%s'.format([1, 2])", "'%%'.format([])", "'%'.format([])", "'%5d'.format([1])", "'%s'.format([optional.of(1)])", "'%s'.format([quantity('1')])", "'%s'.format([ip('::1')])", "'%s'.format([{1: 1, true: 2}])", "'%s'.format(self.ints)", "'%.101f'.format([1.0])", "'%.2s'.format(['abc'])", "'%s'.format([dyn([])])", "'%s'.format([self.nullables])", "'%d %d'.format([1, 2u])", "'%s'.format(['%s'])", "self.s.format([1])",
];

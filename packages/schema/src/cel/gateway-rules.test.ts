import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import { compileRules } from './rule-validator.ts';

/** Every rule of the Gateway API, alone: one value that it lets pass, and one that it refuses. */

const folder = new URL('../../../../e2e/fixtures/crds/', import.meta.url);
const rulesKey = 'x-kubernetes-validations';

/** The places of the Gateway API's schemas by the rules that stand there. */
const places = new Map<string, JsonObject>();
for (const file of readdirSync(folder).filter((name) => name.includes('gateway.networking')))
  collect(JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Json);

function collect(value: Json): void {
  if (Array.isArray(value)) value.forEach(collect);
  if (!isJsonObject(value)) return;
  const rules = value[rulesKey];
  if (Array.isArray(rules))
    for (const { rule } of rules as { rule: string }[]) if (!places.has(rule)) places.set(rule, value);
  Object.values(value).forEach(collect);
}

const withoutRules = (schema: Json): Json =>
  JSON.parse(JSON.stringify(schema, (key, value: unknown) => (key === rulesKey ? undefined : value))) as Json;

function errorsOf(rule: string, value: Json, old?: Json): number {
  const spec = { ...(withoutRules(places.get(rule) as Json) as JsonObject), [rulesKey]: [{ rule }] };
  const schema: JsonObject = { type: 'object', properties: { spec } };
  return compileRules(schema).validate({ spec: value }, old === undefined ? undefined : { spec: old }).length;
}

const filter = (type: string, more: JsonObject = {}): JsonObject => ({ type, ...more });
const prefix = { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/x' } };
const byPrefix = { matches: [{ path: { type: 'PathPrefix', value: '/' } }] };
const exact = { matches: [{ path: { type: 'Exact', value: '/' } }] };
const path = (value: string, type = 'Exact'): JsonObject => ({ type, value });
const listener = (name: string, more: JsonObject = {}): JsonObject => ({ name, port: 80, protocol: 'HTTP', ...more });
const parent = (name: string, more: JsonObject = {}): JsonObject => ({ group: 'g', kind: 'Gateway', name, ...more });
const matches = (count: number): Json[] => Array.from({ length: count }, () => ({}));
const twelve = (each: number): Json[] => Array.from({ length: 12 }, () => ({ matches: matches(each) }));

/** What a filter carries, by its type. */
const parts: readonly (readonly [string, string, JsonObject])[] = [
  ['CORS', 'cors', {}],
  ['ExtensionRef', 'extensionRef', { group: 'g', kind: 'K', name: 'n' }],
  ['RequestHeaderModifier', 'requestHeaderModifier', {}],
  ['RequestMirror', 'requestMirror', { backendRef: { name: 'n' } }],
  ['RequestRedirect', 'requestRedirect', {}],
  ['ResponseHeaderModifier', 'responseHeaderModifier', {}],
  ['URLRewrite', 'urlRewrite', {}],
];

type Case = readonly [rule: string, good: Json, bad: Json];
/** Rules by a part of their text that no other has. */
const cases: readonly Case[] = [
  ...parts.flatMap(([type, field, value]): Case[] => [
    [`!(!has(self.${field}) && self.type == '${type}')`, filter(type, { [field]: value }), filter(type)],
    [
      `!(has(self.${field}) && self.type != '${type}')`,
      filter(type, { [field]: value }),
      filter('Other', { [field]: value }),
    ],
  ]),
  ...['CORS', 'RequestHeaderModifier', 'RequestRedirect', 'ResponseHeaderModifier', 'URLRewrite'].map((type): Case => [
    `self.filter(f, f.type == '${type}').size() <= 1`,
    [filter(type), filter('Other'), filter('Other')],
    [filter(type), filter(type)],
  ]),
  ["!('*' in self && self.size() > 1)", ['*'], ['*', 'x']],
  [
    '!(has(self.caCertificateRefs)',
    { wellKnownCACertificates: 'System' },
    { wellKnownCACertificates: 'System', caCertificateRefs: [{ group: '', kind: 'K', name: 'n' }] },
  ],
  [
    '(has(self.caCertificateRefs) && size(self.caCertificateRefs) > 0 ||',
    { wellKnownCACertificates: 'System' },
    { hostname: 'x' },
  ],
  ['!(has(self.percent) && has(self.fraction))', { percent: 1 }, { percent: 1, fraction: { numerator: 1 } }],
  [
    'has(self.backendRequest) && duration(self.request)',
    { request: '10s', backendRequest: '5s' },
    { request: '5s', backendRequest: '10s' },
  ],
  [
    "!(self.exists(f, f.type == 'RequestRedirect')",
    [filter('RequestRedirect')],
    [filter('RequestRedirect'), filter('URLRewrite')],
  ],
  ['!(self.type != "Hostname"', { type: 'Hostname', hostname: 'x' }, { type: 'URI', hostname: 'x' }],
  ['!(self.type != "URI"', { type: 'URI', uri: 'x' }, { type: 'Hostname', uri: 'x' }],
  ['!(self.type == "Hostname"', { type: 'Hostname', hostname: 'x' }, { type: 'Hostname', hostname: '' }],
  ['!(self.type == "URI"', { type: 'URI', uri: 'x' }, { type: 'URI' }],
  ['has(self.method) ? self.method.matches', { type: 'Exact', method: 'Get_2' }, { method: '2Get' }],
  ['has(self.service) ? self.service.matches', { service: 'Foo.v1.Bar' }, { service: 'foo..bar' }],
  [
    '(has(self.backendRefs) && self.backendRefs.exists_one(b, (has(b.filters) && b.filters.exists_one(f, has(f.requestRedirect)',
    { ...byPrefix, backendRefs: [{ filters: [filter('RequestRedirect', { requestRedirect: prefix })] }] },
    { ...exact, backendRefs: [{ filters: [filter('RequestRedirect', { requestRedirect: prefix })] }] },
  ],
  [
    '(has(self.backendRefs) && self.backendRefs.exists_one(b, (has(b.filters) && b.filters.exists_one(f, has(f.urlRewrite)',
    { ...byPrefix, backendRefs: [{ filters: [filter('URLRewrite', { urlRewrite: prefix })] }] },
    { ...exact, backendRefs: [{ filters: [filter('URLRewrite', { urlRewrite: prefix })] }] },
  ],
  [
    '(has(self.backendRefs) && size(self.backendRefs) > 0)',
    { backendRefs: [{ name: 'n' }], filters: [filter('URLRewrite')] },
    { backendRefs: [{ name: 'n' }], filters: [filter('RequestRedirect', { requestRedirect: {} })] },
  ],
  [
    '(has(self.filters) && self.filters.exists_one(f, has(f.requestRedirect)',
    { ...byPrefix, filters: [filter('RequestRedirect', { requestRedirect: prefix })] },
    { ...exact, filters: [filter('RequestRedirect', { requestRedirect: prefix })] },
  ],
  [
    '(has(self.filters) && self.filters.exists_one(f, has(f.urlRewrite)',
    { ...byPrefix, filters: [filter('URLRewrite', { urlRewrite: prefix })] },
    { matches: [...byPrefix.matches, ...byPrefix.matches], filters: [filter('URLRewrite', { urlRewrite: prefix })] },
  ],
  ['(self.size() > 0 ? (has(self[0].matches)', [...twelve(10), {}], twelve(11)],
  ['(self.size() > 0 ? self[0].matches.size()', twelve(10), twelve(11)],
  ["!self.value.contains('#')", path('/a'), path('/a#b')],
  ["!self.value.contains('%2F')", path('/a%2f'), path('/a%2Fb')],
  ["!self.value.contains('%2f')", path('/a%2F'), path('/a%2fb', 'PathPrefix')],
  ["!self.value.contains('/../')", path('/a..b/'), path('/a/../b')],
  ["!self.value.contains('/./')", path('/a./b'), path('/a/./b')],
  ["!self.value.contains('//')", path('//', 'RegularExpression'), path('/a//b')],
  ["!self.value.endsWith('/.')", path('/a.'), path('/a/.')],
  ["!self.value.endsWith('/..')", path('/a..'), path('/a/..')],
  ["['Exact','PathPrefix']) ? self.value.matches", path("/a-b_c~d!$&'()*+,;=:@%20"), path('/a b')],
  ["self.value.startsWith('/')", path('/a'), path('a')],
  ["|| self.type == 'RegularExpression'", path('/', 'RegularExpression'), path('/', 'Glob')],
  [
    "(size(self.group) == 0 && self.kind == 'Service')",
    { group: '', kind: 'Service', port: 80 },
    { group: '', kind: 'Service' },
  ],
  [
    'has(self.replaceFullPath) ? self.type',
    { type: 'ReplaceFullPath', replaceFullPath: '/' },
    { type: 'X', replaceFullPath: '/' },
  ],
  [
    'has(self.replacePrefixMatch) ? self.type',
    { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' },
    { type: 'X', replacePrefixMatch: '/' },
  ],
  [
    "self.type == 'ReplaceFullPath' ? has",
    { type: 'ReplaceFullPath', replaceFullPath: '/' },
    { type: 'ReplaceFullPath' },
  ],
  [
    "self.type == 'ReplacePrefixMatch' ? has",
    { type: 'ReplacePrefixMatch', replacePrefixMatch: '' },
    { type: 'ReplacePrefixMatch' },
  ],
  ['has(self.type) ? has(self.service) || has(self.method)', { type: 'Exact', method: 'm' }, { type: 'Exact' }],
  [
    "self.all(a1, a1.type == 'Hostname'",
    [
      { type: 'Hostname', value: 'a' },
      { type: 'Hostname', value: 'b' },
    ],
    [
      { type: 'Hostname', value: 'a' },
      { type: 'Hostname', value: 'a' },
    ],
  ],
  [
    "self.all(a1, a1.type == 'IPAddress'",
    [
      { type: 'IPAddress', value: '1.1.1.1' },
      { type: 'Hostname', value: '1.1.1.1' },
    ],
    [
      { type: 'IPAddress', value: '1.1.1.1' },
      { type: 'IPAddress', value: '1.1.1.1' },
    ],
  ],
  ["self.all(h, !h.contains('*')", ['a.b', '*.x_'], ['a_b']],
  ['self.all(h, !isIP(h))', ['a.b'], ['a.b', '10.0.0.1']],
  ["self.all(h, h.contains('*') ?", ['*.a.b', 'c'], ['a.*.b']],
  ['self.all(key, key.matches', { 'example.com/a': 'x', b: 'y' }, { '-a': 'x' }],
  ['self.all(key, key.split("/")[0].size() < 253)', { 'example.com/a': 'x' }, { [`${'a'.repeat(253)}/b`]: 'x' }],
  [
    "self.all(l, (l.protocol == 'HTTPS' && has(l.tls))",
    [listener('a', { protocol: 'HTTPS', tls: { mode: 'Terminate' } })],
    [listener('a', { protocol: 'HTTPS', tls: { mode: 'Passthrough' } })],
  ],
  [
    "self.all(l, (l.protocol == 'TLS' ?",
    [listener('a', { protocol: 'TLS', tls: { mode: 'Passthrough' } })],
    [listener('a', { protocol: 'TLS' })],
  ],
  [
    "l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.tls)",
    [listener('a')],
    [listener('a', { protocol: 'UDP', tls: { mode: 'Terminate' } })],
  ],
  [
    "self.all(l, l.protocol in ['TCP', 'UDP']  ?",
    [listener('a', { hostname: 'x' })],
    [listener('a', { protocol: 'TCP', hostname: 'x' })],
  ],
  [
    'self.all(l1, !has(l1.port) ||',
    [listener('a'), listener('b', { port: 81 }), { name: 'c', protocol: 'HTTP' }],
    [listener('a'), listener('b')],
  ],
  [
    'self.all(l1, self.exists_one(l2, l1.name == l2.name))',
    [listener('a'), listener('b')],
    [listener('a'), listener('a')],
  ],
  [
    'self.all(l1, self.exists_one(l2, l1.port == l2.port',
    [listener('a'), listener('b', { hostname: 'x' })],
    [listener('a', { hostname: 'x' }), listener('b', { hostname: 'x' })],
  ],
  [
    'self.all(p1, self.all(p2, p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name && (((!has(p1.__namespace__)',
    [parent('a', { sectionName: 's' }), parent('a', { sectionName: 't' })],
    [parent('a'), parent('a', { sectionName: 't' })],
  ],
  [
    'self.all(p1, self.all(p2, p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name ?',
    [parent('a'), parent('b', { sectionName: 't' })],
    [parent('a'), parent('a', { sectionName: 't' })],
  ],
  [
    'self.all(p1, self.exists_one(p2, p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name && (((!has(p1.__namespace__)',
    [parent('a'), parent('a', { namespace: 'x' })],
    [parent('a', { namespace: 'x' }), parent('a', { namespace: 'x' })],
  ],
  [
    'self.all(p1, self.exists_one(p2, p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name && (((!has(p1.sectionName)',
    [parent('a', { sectionName: 's' }), parent('a', { sectionName: 't' })],
    [parent('a'), parent('a')],
  ],
  ['self.all(t1, self.exists_one(t2, t1.port == t2.port))', [{ port: 1 }, { port: 2 }], [{ port: 1 }, { port: 1 }]],
  [
    "self.mode == 'Terminate' ?",
    { mode: 'Terminate', certificateRefs: [], options: { a: 'b' } },
    { mode: 'Terminate', certificateRefs: [], options: {} },
  ],
  ['self.numerator <= self.denominator', { numerator: 1, denominator: 1 }, { numerator: 2, denominator: 1 }],
  ["self.type == 'Hostname' ? (!has(self.value)", { type: 'Hostname' }, { type: 'Hostname', value: '-a' }],
  [
    "self.type == 'Hostname' ? self.value.matches",
    { type: 'Hostname', value: '*.a' },
    { type: 'Hostname', value: 'a_b' },
  ],
];

const ruleWith = (part: string): string => {
  const found = [...places.keys()].filter((rule) => rule.includes(part));
  if (found.length !== 1) throw new Error(`${found.length} rules contain ${part}`);
  return found[0] as string;
};

describe('the rule', () => {
  test.each(cases)('%s', (part, good, bad) => {
    const rule = ruleWith(part);
    expect([errorsOf(rule, good), errorsOf(rule, bad)]).toEqual([0, 1]);
  });

  test('that a value stays what it was', () => {
    expect([errorsOf('self == oldSelf', 'a'), errorsOf('self == oldSelf', 'a', 'a')]).toEqual([0, 0]);
    expect(errorsOf('self == oldSelf', 'b', 'a')).toBe(1);
  });
});

test('no rule is left out', () => {
  const tried = new Set([...cases.map(([part]) => ruleWith(part)), 'self == oldSelf']);
  expect([...places.keys()].filter((rule) => !tried.has(rule))).toEqual([]);
  expect(places.size).toBe(79);
});

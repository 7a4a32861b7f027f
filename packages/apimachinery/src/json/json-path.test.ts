import { describe, expect, test } from '@jest/globals';
import { JsonPath, jsonPathText } from './json-path.ts';
import type { Json } from './json.ts';

const object: Json = {
  metadata: { name: 'a', labels: { 'app.kubernetes.io/name': 'x' } },
  spec: {
    replicas: 3,
    ratio: 0.5,
    big: 2n ** 60n,
    nothing: null,
    ports: [
      { name: 'http', port: 80 },
      { name: 'https', port: 443, tls: true },
    ],
    nested: [[1, 2], [3]],
    empty: [],
    'x(y': 'odd',
  },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Other', status: 'False)' },
    ],
  },
};

describe('JSON paths', () => {
  // The results are those of k8s.io/client-go/util/jsonpath 1.36 for `{<path>}`.
  test.each([
    ['.metadata.name', ['a']],
    ['$.metadata.name', ['a']],
    ['@.metadata.name', ['a']],
    ['', [object]],
    [String.raw`.metadata.labels.app\.kubernetes\.io/name`, ['x']],
    [String.raw`.metadata.labels['app\.kubernetes\.io/name']`, ['x']],
    [".metadata.labels['app.kubernetes.io/name']", []],
    ['.spec.x(y', ['odd']],
    ['.spec.ports[0].port', [80]],
    ['.spec.ports[].port', [80]],
    ['.spec.ports[-1].port', [443]],
    ['.spec.ports[-2].port', [80]],
    ['.spec.ports[2].port', []],
    ['.spec.ports[-3].port', []],
    ['.spec.empty[]', []],
    ['.spec.empty[*]', []],
    ['.spec.ports[*].name', ['http', 'https']],
    ['.spec.ports[:].name', ['http', 'https']],
    ['.spec.ports[0:1].name', ['http']],
    ['.spec.ports[1:].name', ['https']],
    ['.spec.ports[-1:].name', ['https']],
    ['.spec.ports[:-1].name', ['http']],
    ['.spec.ports[0:2:2].name', ['http']],
    ['.spec.ports[0:2:0].name', []],
    ['.spec.ports[1:0].name', []],
    ['.spec.ports[0:9].name', []],
    ['.spec.ports[0,1].port', [80, 443]],
    ['.spec.ports[0, 1].port', [80, 443]],
    [".spec['replicas','big']", [3, 2n ** 60n]],
    ['.spec.nested[*][0]', [1, 3]],
    ['.spec.ports[*].*', ['http', 80, 'https', 443, true]],
    ['..port', [80, 443]],
    ['.metadata..', [object['metadata' as never], 'a', { 'app.kubernetes.io/name': 'x' }, 'x']],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    ['.status.conditions[?(@.type == "None")].status', []],
    ['.status.conditions[?(@.status=="False)")].type', ['Other']],
    ['.spec.ports[?(@.port > 100)].name', ['https']],
    ['.spec.ports[?(@.port<=80)].name', ['http']],
    ['.spec.ports[?(@.port!=80)].name', ['https']],
    ['.spec.ports[?(@.port==80.0)].name', []],
    ['.spec.ports[?(@.port=="80")].name', []],
    [".spec.ports[?(@.name>='https')].port", [443]],
    ['.spec.ports[?(@.port)].port', [80, 443]],
    ['.spec.ports[?(@.tls)].port', [443]],
    ['.spec.ports[?(@.tls==true)].port', [443]],
    ['.spec.ports[?(@.tls>true)].port', []],
    ['.spec.ports[?(@.none)].port', []],
    ['.spec.ports[?(@.port=80)].name', []],
    ['.spec.replicas[?(@)]', []],
    ['.spec.replicas[0]', []],
    ['.spec.nothing', [null]],
    ['.spec.nothing.x', []],
    ['.missing.field', []],
    ['.metadata.constructor', []],
    ['.metadata.__proto__', []],
    ['.', []],
    ['.a.', []],
    ['.spec. b', []],
    ['.metadata.name true', [true]],
    ['.metadata.name "\\u00e4"', ['ä']],
    [".metadata.name '\\''", ["'"]],
    ['.metadata.name 1', [1]],
    ['.metadata.name range', []],
    ['.metadata.name} and {.spec.replicas', ['a']],
    ['.metadata.name} and {.spec.replicas[0]', []],
  ] as [string, Json[]][])('%s', (path, found) => {
    expect(new JsonPath(path).find(object)).toEqual(found);
  });

  test.each([
    ['{.a}', 'unrecognized character in action: "{"'],
    ['.a[', 'unterminated array'],
    ['.a[x]', 'invalid array index x'],
    ['.a[-]', 'array index - is not a number'],
    ['.a[99999999999999999999]', 'array index 99999999999999999999 is not a number'],
    ['.a[?(@.b', 'unterminated filter'],
    ['.a[?(@.b)', 'unclosed array expect ]'],
    ['.a[?(@.b==)]', 'unrecognized character in action: "="'],
    ['.a[?(@.b=="x" && @.c=="y")]', 'unrecognized character in action: "&"'],
    ['.a[?(@.b=~"x")]', 'unrecognized character in action: "~"'],
    [".a['b]", "invalid array index 'b"],
    ['.a"b', 'unterminated quoted string', '.a "b'],
    ['.a "\\q"', 'unquote string "\\q" error invalid syntax'],
    ['.a.....b', 'invalid multiple recursive descent'],
    ['..*', 'unrecognized character in action: "*"'],
    ['.a 1..2', 'cannot parse number 1..2'],
    ['.a\nb', 'unclosed action'],
    ['.a\tb', 'unrecognized character in action: "\\t"'],
    ['.a,b', 'unrecognized character in action: ","'],
    ['x'.repeat(5000), 'path is longer than 4096 characters'],
  ])('%.30j cannot be parsed', (path, message, text = path) => {
    expect(() => new JsonPath(text)).toThrow(expect.objectContaining({ name: 'JsonPathError', message }));
  });

  test('give the first result and its text, as Go prints it', () => {
    expect(new JsonPath('.spec.ports[*].name').first(object)).toBe('http');
    expect(new JsonPath('.none').first(object)).toBeUndefined();
    expect(jsonPathText('a')).toBe('a');
    expect(jsonPathText({ b: '<', a: [1, 2n ** 60n] })).toBe('{"a":[1,1152921504606846976],"b":"\\u003c"}');
    expect(jsonPathText(true)).toBe('true');
    expect(jsonPathText(1e21)).toBe('1e+21');
    expect(jsonPathText(null)).toBe('<no value>');
  });

  test('stop at their budget, which several paths may share', () => {
    let wide: Json = 1;
    for (let level = 0; level < 6; level++) wide = [wide, wide, wide, wide];
    const budget = { visits: 10_000 };
    const path = new JsonPath('..[*]'.repeat(5));
    expect(path.find(wide, budget)).toEqual([]);
    expect(new JsonPath('[0]').find(wide, budget)).toEqual([]);
    expect(new JsonPath('[0]').find(wide)).toHaveLength(1);
  });
});
